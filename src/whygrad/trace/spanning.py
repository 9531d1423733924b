"""Shortest ways through the graph, from a loss down to what it was made of."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from whygrad.trace.graph import Graph, Input, Op


@dataclass(slots=True)
class Spanning:
    """Shortest ways from some roots."""

    before: dict[int, int | None]
    """For each operation the one nearer the loss."""
    parameters: dict[int, int]
    """The operation that reads each parameter."""

    def way(self, number: int) -> tuple[int, ...]:
        return self.to(self.parameters[number])

    def to(self, op: int) -> tuple[int, ...]:
        out: list[int] = []
        here: int | None = op
        while here is not None:
            out.append(here)
            here = self.before[here]
        return tuple(reversed(out))


def spanning(graph: Graph, roots: Iterable[int], follow: Callable[[Op], list[Input]]) -> Spanning:
    found = Spanning(dict.fromkeys(roots), {})
    queue = deque(found.before)
    while queue:
        op = graph[queue.popleft()]
        if op.parameter is not None:
            found.parameters.setdefault(op.parameter, op.id)
        for operand in follow(op):
            if operand.op not in found.before and operand.op in graph.ops:
                found.before[operand.op] = op.id
                queue.append(operand.op)
    return found


def carrying(op: Op) -> list[Input]:
    """Operands that gradient gets to."""
    return [operand for operand in op.inputs if op.passes(operand)]


def values_first(op: Op) -> list[Input]:
    """All operands; what only chooses among values comes last."""
    return sorted(op.inputs, key=lambda i: i.selector)
