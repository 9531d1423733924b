"""What is left of a trace that broke off in the middle of an update: an update that was seen by half proves nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from whygrad.trace.graph import Graph
from whygrad.trace.trace import Trace


class _Ordered(Protocol):
    order: int


T = TypeVar("T", bound=_Ordered)


def completed(trace: Trace, order: int) -> Trace:
    """Only the events up to this one, and the operations behind their losses."""

    def before(events: list[T]) -> list[T]:
        return [event for event in events if event.order <= order]

    trace.backwards, trace.steps = before(trace.backwards), before(trace.steps)
    trace.clears, trace.clips = before(trace.clears), before(trace.clips)
    trace.copies, trace.switches = before(trace.copies), before(trace.switches)
    trace.kept, trace.aliases = [], []
    trace.graph = _behind(trace.graph, [b.root for b in trace.backwards if b.root is not None])
    return trace


def _behind(graph: Graph, roots: Iterable[int]) -> Graph:
    stack, kept = list(roots), Graph()
    while stack:
        op = graph.ops.get(stack.pop())
        if op is not None and op.id not in kept.ops:
            kept.add(op)
            stack.extend(operand.op for operand in op.inputs)
    return kept
