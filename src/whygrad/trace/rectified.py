"""Outputs of networks that are cut off at zero and then used as something that must go below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whygrad.trace.anatomy import behind_shaping, formula, layer
from whygrad.trace.errors import errors
from whygrad.trace.graph import Graph, Op
from whygrad.trace.losses import latest
from whygrad.trace.operations import NORMALISING, RECTIFIERS, SHAPING, SUMS
from whygrad.trace.trace import Trace

PICKING = SHAPING | {"gather", "index_select", "mean", "sum"}
MANY = 0.3
"""Share of zeros from which a rectified value counts as held down."""


@dataclass(slots=True)
class Rectified:
    op: Op
    user: Op
    """The operation that takes it for logits, a value or a log standard deviation."""
    use: str


def rectified(trace: Trace) -> Iterator[Rectified]:
    graph = trace.graph
    for backward in latest(trace):
        assert backward.root is not None
        for op in formula(graph, backward.root):
            found = _through(graph, op.inputs[0].op) if op.inputs else None
            if op.name in NORMALISING and found is not None and _rectifies(graph, found):
                yield Rectified(found, op, "logits")
            elif op.name == "exp" and found is not None and _rectifies(graph, found):
                yield Rectified(found, op, "log-std")
        for error in errors(graph, backward.root):
            # Two rectified feature vectors may be compared; a bootstrapped target is rectified by the same mistake.
            target = [] if error.bootstraps else [s.op for s in error.target]
            yield from _values(graph, error.op, [s.op for s in error.prediction], target)


def _values(graph: Graph, error: Op, prediction: list[int], target: list[int]) -> Iterator[Rectified]:
    cut = [found for n in prediction for found in _summed(graph, n) if _rectifies(graph, found)]
    other = [found for n in target for found in _summed(graph, n) if _cuts_off(found)]
    for found in cut if not other else ():
        if found.facts is not None and (found.facts.killed or 0.0) >= MANY:
            yield Rectified(found, error, "value")


def _summed(graph: Graph, start: int) -> list[Op]:
    """What a value is a sum of, each behind picking and reshaping."""
    out: list[Op] = []
    stack, seen = [start], {start}
    while stack:
        op = _through(graph, stack.pop())
        if op is not None and op.name in SUMS:
            fresh = [i.op for i in op.inputs if not i.selector and i.op not in seen]
            seen.update(fresh)
            stack.extend(fresh)
        elif op is not None:
            out.append(op)
    return out


def _through(graph: Graph, start: int) -> Op | None:
    op = graph.ops.get(start)
    while op is not None and op.name in PICKING and not _cuts_off(op):
        values = [i.op for i in op.inputs if not i.selector]
        op = graph.ops.get(values[0]) if values else None
    return op


def _cuts_off(op: Op) -> bool:
    """What is below zero, and nothing else."""
    return op.name in RECTIFIERS or (op.name == "clamp" and op.scalar == 0.0)


def _rectifies(graph: Graph, op: Op) -> bool:
    """A ReLU whose argument is what a layer gave, untouched."""
    if not _cuts_off(op) or not op.inputs:
        return False
    below = behind_shaping(graph, op.inputs[0].op)
    if below is not None and below.name in SUMS:  # `h @ w + b`
        operands = [found for _, found in graph.operands(below)]
        weighed = [found for found in operands if found.parameter is None]
        below = behind_shaping(graph, weighed[0].id) if len(weighed) == 1 < len(operands) else None
    return below is not None and layer(graph, below) and below.name != "layer_norm"
