"""What the findings about leaking gradient share: whose step consumes it, and where the value came from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from whygrad import wording
from whygrad.finding import Label
from whygrad.source import expressions
from whygrad.source.defining import call_behind
from whygrad.source.discarding import useless
from whygrad.trace import Op, Site, Trace
from whygrad.trace.anatomy import layer
from whygrad.trace.carrying import carried
from whygrad.trace.leaks import Leak, lasting


def merged(trace: Trace, leaks: Iterable[Leak]) -> list[Leak]:
    """One leak per place, with the part of the run that shows it."""
    places: dict[object, list[Leak]] = {}
    stored = {case.op.id for case in carried(trace)}
    for leak in leaks:
        site = leak.op.site
        if stored and stored & trace.graph.carriers(leak.source.id):
            continue  # It was stored with its graph: WG207 says so.
        places.setdefault((site.file, site.line) if site is not None else None, []).append(leak)
    found = (lasting(trace, group) for group in places.values())
    # Where the statement that was to cut it has no effect, WG208 says so.
    return [leak for leak in found if leak is not None and not _bare_detach(leak)]


def _bare_detach(leak: Leak) -> bool:
    for site in (leak.op.site, leak.source.site):
        if site is not None:
            written = f"{expressions.text(site)} {' '.join(expressions.targets(site))}"
            for found in useless(site.file):
                if found.how == "detach" and re.search(rf"\b{re.escape(found.what)}\b", written):
                    return True
    return False


def labels(trace: Trace, leak: Leak, entering: str) -> list[Label]:
    """Where the value came from, which backward carried the gradient, which step used it."""
    out: list[Label] = []
    used = outside(trace, leak.source)
    if used is not None and leak.op.site is not None and used.line != leak.op.site.line:
        out.append(Label(used, entering))
    if leak.backward.site is not None:
        out.append(
            Label(leak.backward.site, f"deposits on {wording.plural(len(leak.parameters), 'parameter')} this way")
        )
    step = consuming(trace, leak)
    if step is not None:
        out.append(Label(step, f"{leak.optimizers[0].name} consumes it"))
    return out


def consuming(trace: Trace, leak: Leak) -> Site | None:
    for step in reversed(trace.steps):
        if any(leak.backward.id in step.consumed.get(n, ()) for n in leak.parameters):
            return step.site
    return None


def outside(trace: Trace, op: Op) -> Site | None:
    """The line on which a network's output is used first, outside the network's own forward."""
    graph = trace.graph
    current = op
    while layer(graph, current) or (current.site is not None and current.site.function.endswith("forward")):
        users = [found for found in graph.ops.values() if any(i.op == current.id for i in found.inputs)]
        if not users:
            return current.site
        current = min(users, key=lambda found: found.id)
        if not layer(graph, current) and not (current.site and current.site.function.endswith("forward")):
            return (call_behind(current.site) if current.site is not None else None) or current.site
    while True:
        behind = [found for operand, found in graph.operands(current) if not operand.selector and found.site]
        inner = [found for found in behind if layer(graph, found)]
        if inner or not behind:
            return current.site
        later = max(behind, key=lambda found: found.id)
        if later.site is not None and later.site.function.endswith("forward"):
            return current.site
        current = later


def seen(trace: Trace, leak: Leak) -> str:
    names = ", ".join(dict.fromkeys(o.name for o in leak.optimizers))
    count = wording.plural(len(leak.parameters), "parameter")
    who = wording.whom(trace, leak.parameters)
    applied = f"gradient of {leak.backward.name} reaches {count} of {who} through it, and {names} applies it"
    return applied + wording.also_dated(leak.when)


def evidence(leak: Leak) -> dict[str, object]:
    """The loss, and the updates between which it leaked."""
    return {"loss": leak.backward.name} | (leak.when.evidence if leak.when is not None else {})
