"""Parameters by module, split as far down as the losses tell the parts apart."""

from __future__ import annotations

from collections.abc import Mapping

from whygrad.trace.losses import latest
from whygrad.trace.terms import terms
from whygrad.trace.trace import Trace

Signature = tuple[object, ...]
MOST_PARTS = 12
"""A module that falls into more parts than this is shown whole."""


def modules(trace: Trace) -> dict[str, list[int]]:
    """`agent` as one, or `agent.trunk`, `agent.actor` and `agent.critic` where different losses train them."""
    return trace.once("modules", lambda: _modules(trace))


def _modules(trace: Trace) -> dict[str, list[int]]:
    outer: dict[str, list[int]] = {}
    for parameter in trace.parameters:
        if parameter.used or parameter.id in trace.holders:
            outer.setdefault(parameter.module, []).append(parameter.id)
    signatures = _signatures(trace)
    out: dict[str, list[int]] = {}
    for module, numbers in outer.items():
        parts = split({n: trace.parameter(n).name for n in numbers}, module, numbers, signatures)
        out.update(parts if len(parts) <= MOST_PARTS else {module: numbers})
    return out


def _signatures(trace: Trace) -> dict[int, Signature]:
    """What happens to each parameter: which terms reach it, whether steps move it, whether it is copied to."""
    reaches = []
    for backward in latest(trace):
        assert backward.root is not None
        reaches += [part.reach(trace.graph) for part in terms(trace.graph, backward.root)]
        reaches.append(backward.deposits)
    copied = {n for c in trace.copies for n in c.into}
    return {
        p.id: (*(p.id in reach for reach in reaches), bool(p.consumed), p.id in copied, p.id in trace.holders)
        for p in trace.parameters
    }


def split(
    names: Mapping[int, str], prefix: str, numbers: list[int], signatures: Mapping[int, Signature]
) -> dict[str, list[int]]:
    """A module as one, or by its children where they fare differently."""
    rests = [names[n].removeprefix(prefix).lstrip(".") for n in numbers]
    if len({signatures[n] for n in numbers}) < 2 or not any("." in rest for rest in rests):
        return {prefix: numbers}
    children: dict[str, list[int]] = {}
    for number, rest in zip(numbers, rests, strict=True):
        head = rest.split(".", 1)[0] if "." in rest else rest
        children.setdefault(f"{prefix}.{head}" if head else prefix, []).append(number)
    if len(children) < 2 and prefix in children:
        return {prefix: numbers}
    out: dict[str, list[int]] = {}
    for child, members in children.items():
        out.update(split(names, child, members, signatures) if child != prefix else {child: members})
    return out
