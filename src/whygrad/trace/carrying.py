"""Graphs that reach back over an update: a value of an earlier one is still connected."""

from __future__ import annotations

from dataclasses import dataclass

from whygrad.trace.graph import Op
from whygrad.trace.ledger import Backward, Step
from whygrad.trace.site import Site
from whygrad.trace.trace import Trace, worked_out_once
from whygrad.trace.uses import Line


@dataclass(slots=True)
class Carried:
    """A loss whose gradient runs into what an earlier update made."""

    backward: Backward
    op: Op
    """The value that was kept."""
    user: Op
    """The operation of the later update that took it in."""


def carried(trace: Trace) -> list[Carried]:
    return trace.once("carried", lambda: _find(trace))


def _find(trace: Trace) -> list[Carried]:
    out: dict[object, Carried] = {}
    failed = trace.raised.backward if trace.raised is not None else None
    for backward in sorted(trace.rooted, key=lambda b: b.id != failed):  # Of several at one place that which raised.
        boundary = _previous_update(trace, backward)
        if boundary is None:
            continue
        found = _crossing(trace, backward, boundary)
        if found is not None:
            out.setdefault(found.op.site, found)
    return list(out.values())


def _previous_update(trace: Trace, backward: Backward) -> int | None:
    """The shadow graph's size when this thread's next step after an earlier backward of this loss was made.

    Another thread's updates come and go while this one collects.
    """
    earlier = _of_thread(trace)[backward.thread, backward.site].before(backward.order)
    if earlier is None:
        return None
    steps = _steps_of_thread(trace).get(backward.thread)
    step = steps.after(earlier.order) if steps is not None else None
    return step.serial if step is not None and step.order < backward.order else None


@worked_out_once
def _steps_of_thread(trace: Trace) -> dict[int, Line[Step]]:
    out: dict[int, list[Step]] = {}
    for step in trace.steps:
        out.setdefault(step.thread, []).append(step)
    return {thread: Line(found) for thread, found in out.items()}


@worked_out_once
def _of_thread(trace: Trace) -> dict[tuple[int, Site | None], Line[Backward]]:
    out: dict[tuple[int, Site | None], list[Backward]] = {}
    for backward in trace.backwards:
        out.setdefault((backward.thread, backward.site), []).append(backward)
    return {place: Line(found) for place, found in out.items()}


def _crossing(trace: Trace, backward: Backward, boundary: int) -> Carried | None:
    """The newest old value in the graph that the update makes anew each time: a state, a buffer, a running sum."""
    assert backward.root is not None
    graph = trace.graph
    carriers = graph.carriers(backward.root)
    fresh = {graph[n].site for n in carriers if n > boundary and graph[n].parameter is None}
    crossings = []
    for number in carriers:
        op = graph[number]
        if number <= boundary or op.parameter is not None:
            continue
        for operand in op.inputs:
            old = graph.ops.get(operand.op)
            if old is None or old.id > boundary or old.parameter is not None or not op.passes(operand):
                continue
            if old.inputs and old.site is not None and (old.site in fresh or old.name == "store"):
                crossings.append(Carried(backward, old, op))
    found = max(crossings, key=lambda c: c.op.id, default=None)
    if found is not None and found.op.name == "store":
        buffers = [n for n in graph.carriers(found.op.id) if graph[n].name == "store" and graph[n].site is not None]
        found.op = graph[min(buffers)]  # Other buffers may have been filled from the first.
    return found
