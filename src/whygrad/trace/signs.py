"""Which way a loss pushes: the sign with which a value enters it."""

from __future__ import annotations

from collections.abc import Iterator

from whygrad.trace.graph import Graph, Op
from whygrad.trace.operations import AVERAGES, JOINS, NEGATING, SCALINGS, SHAPING

PASSING = (SHAPING - {"clamp"}) | AVERAGES | {"sum", "nansum", "add"}
POSITIVE = frozenset({"exp", "softplus", "sigmoid", "abs", "softmax"})


def signed(graph: Graph, root: int) -> Iterator[tuple[Op, int]]:
    """Operations behind a loss that gradient reaches through plain sums, means and scalings, each with its sign."""
    stack, seen = [(root, 1)], {root}
    while stack:
        number, sign = stack.pop()
        op = graph.ops.get(number)
        if op is None:
            continue
        yield op, sign
        for operand, following in _through(graph, op, sign):
            if operand not in seen:
                seen.add(operand)
                stack.append((operand, following))


def _through(graph: Graph, op: Op, sign: int) -> list[tuple[int, int]]:
    values = [i for i in op.inputs if not i.selector]
    carrying = [i for i in values if op.passes(i)]
    if op.name in NEGATING or op.name == "rsub":
        return [(i.op, -sign) for i in carrying]
    if op.name == "sub":
        return [(i.op, sign if i is values[0] else -sign) for i in carrying]
    if op.name in PASSING or op.name in JOINS:
        return [(i.op, sign) for i in carrying]
    if op.name in SCALINGS and len(carrying) == 1:
        number = (op.scalar if op.scalar is not None else 1.0) * _coefficient(graph, op, carrying[0].op)
        return [(carrying[0].op, sign if number > 0 else -sign)] if number else []
    return []


def _positive(op: Op) -> bool:
    return op.name in POSITIVE or (op.name == "pow" and op.scalar is not None and op.scalar % 2 == 0)


def _coefficient(graph: Graph, op: Op, carrying: int) -> int:
    """The sign of the other factor, if that is one number: positive, unless a minus stands before it; 0 otherwise."""
    sign = 1
    for operand in op.inputs:
        factor = graph.ops.get(operand.op)
        if operand.op == carrying:
            continue
        if factor is None or factor.shape not in ((), (1,)) or factor.parameter is not None:
            return 0
        while factor is not None and not _positive(factor):
            scaled = factor.name in SCALINGS
            turned = factor.name in NEGATING or (scaled and factor.scalar is not None and factor.scalar < 0)
            sign = -sign if turned else sign
            factor = graph.ops.get(factor.inputs[0].op) if len(factor.inputs) == 1 else None
    return sign
