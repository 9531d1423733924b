"""Puts the trace together when the watching ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from whygrad.capture.torch.parameters import Known, shape
from whygrad.capture.tracebacks import led_to
from whygrad.source import expressions, positions
from whygrad.trace import Optimizer, Parameter, Site, Trace
from whygrad.trace.completed import completed

if TYPE_CHECKING:
    from whygrad.capture.torch.capture import Capture

LONG_ABSENT = 3


def assemble(capture: Capture, escaped: BaseException | None) -> Trace:
    """Everything seen, as plain data."""
    protocol = capture.protocol
    optimizers = [
        Optimizer(
            held.number,
            capture.naming.optimizers.get(id(held.ref()), "") or _assigned(held.site) or held.kind,
            held.site,
            held.stack,
            held.parameters,
            held.steps,
            held.looks,
            held.twice,
            held.maximizes,
            held.rates,
            held.stopped,
            held.scheduled,
            held.adaptive,
            held.momentum,
            held.there,
            held.groups,
            held.governed,
        )
        for held in protocol.optimizers
    ]
    trace = Trace(
        capture.extraction.graph,
        parameters_of(capture),
        optimizers,
        protocol.backwards,
        protocol.steps,
        capture.gradients.clears,
        capture.gradients.clips,
        protocol.copies,
        capture.switching.switches,
        capture.keeping.kept(),
        capture.naming.aliasing.aliases(),
        raised=capture.errors.raised if led_to(escaped, capture.errors.error) else None,
        updates=protocol.updates,
        traced_updates=capture.traced_updates,
        backward_calls=capture.count.calls,
        limits=_limits(capture),
    )
    trace.cut_short = escaped is not None
    trace.swallowed = capture.backwards.swallowing.seen(escaped)
    if escaped is None:
        trace.raised = next((found.explained for found in trace.often_swallowed), None)
    trace.compiled = capture.compiled.called
    trace.gaps = capture.guard.gaps()
    trace.openings = list(capture.openings)
    trace.unseen = capture.backwards.unseen()
    trace.ran = {(code.co_filename, code.co_name) for code in capture.recorder.ran if code is not None}
    trace.failure = capture.failing.failure
    trace.scalers = capture.sampling.scaling.seen()
    trace.singles = {positions.resolve(*place): (n, s) for place, (n, s) in capture.recorder.singles.items() if n}
    trace.results = {positions.resolve(*place): name for place, name in capture.recorder.results.items()}
    trace.variables = {n: name for n, name in capture.keeping.names.items() if n in trace.graph.ops}
    trace.count_held_steps()
    return trace if capture.guard.broken is None else completed(trace, capture.stepping.completed)


def parameters_of(capture: Capture) -> list[Parameter]:
    return [_parameter(known) for known in capture.parameters.known_list]


def _parameter(known: Known) -> Parameter:
    tensor = known.ref()
    return Parameter(
        known.number,
        known.name or invented(known),
        known.module or known.name or invented(known),
        shape(tensor) if tensor is not None else known.shape,
        known.wanted,
        known.created,
        known.stack,
        known.replaced,
        known.frozen,
        not (known.asks if tensor is None else tensor.requires_grad),
        known.family.numbers() if known.family is not None else frozenset(),
        known.used,
        known.consumed,
        absent=known.absent >= LONG_ABSENT or not known.consumed,
        waited=known.waited,
        first=known.first,
        last=known.last,
        grad=known.grad if known.grad != "none" or not known.consumed else "nonzero",
        changed=_changed(known, tensor),
        loaded=known.loaded,
        derived_from=known.derived_from,
        moved=known.moved,
        shift=known.shift,
        finite=known.finite,
        rewritten=known.rewritten,
        still=known.still,
        changes=known.changes,
        vain=known.vain,
        sampled=known.sampled,
        same_memory=tuple(sorted(known.same_memory)),
        lost=not known.name,
        unwatched=known.unwatched,
    )


def invented(known: Known) -> str:
    """No variable holds it any more: say where it was made."""
    if known.created is not None:
        made = expressions.name(known.created)
        if made:
            return f"{made.removeprefix('self.')} (made at line {known.created.line})"
    return f"tensor{list(known.shape)}"


def _assigned(site: Site | None) -> str:
    targets = expressions.targets(site) if site is not None else []
    return targets[0].removeprefix("self.") if targets else ""


def _changed(known: Known, tensor: torch.Tensor | None) -> bool:
    if known.vain == known.consumed > 0 and not known.sampled:
        return False
    if known.consumed or tensor is None or tensor.is_inference():
        return bool(known.consumed)
    return known.version >= 0 and tensor._version != known.version


def _limits(capture: Capture) -> list[str]:
    out = capture.guard.limits()
    if capture.compiled.called:
        out.append("compiled functions were seen from outside only; TORCH_COMPILE_DISABLE=1 shows them whole")
    if capture.shadow.truncated or capture.extraction.truncated:
        out.append("the history of long-lived values was cut off to bound memory")
    return out
