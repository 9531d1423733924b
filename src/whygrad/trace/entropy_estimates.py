"""Log-probabilities of what a distribution has just drawn itself: their negative mean is its entropy."""

from __future__ import annotations

import math

from whygrad.trace.anatomy import behind_shaping
from whygrad.trace.graph import Graph, Op
from whygrad.trace.operations import PRODUCTS, RANDOM

NORMALISER = 0.5 * math.log(2 * math.pi)
"""What a normal log-density subtracts."""


def scores_own_draw(graph: Graph, op: Op) -> bool:
    """A batch of normal log-densities at `mean + noise * scale`, of the very same mean, with the draw's gradient."""
    normal = op.name == "sub" and op.scalar is not None and math.isclose(op.scalar, NORMALISER, rel_tol=1e-6)
    if not normal or not op.requires_grad or len(op.shape) < 2 or op.shape[0] < 2:
        return False
    deviation = _deviation(graph, op)
    if deviation is None or len(deviation.inputs) != 2:
        return False
    drawn, mean = (behind_shaping(graph, operand.op) for operand in deviation.inputs)
    if drawn is None or mean is None or drawn.name != "add" or not deviation.passes(deviation.inputs[0]):
        return False
    parts = [behind_shaping(graph, operand.op) for operand in drawn.inputs]
    return any(p is not None and p.id == mean.id for p in parts) and any(_noise(graph, p) for p in parts)


def _deviation(graph: Graph, op: Op) -> Op | None:
    """`x - mean` of `-(x - mean)² / 2 var - log(std) - constant`."""
    for name in ("sub", "div", "neg", "pow"):
        first = graph.ops.get(op.inputs[0].op) if op.inputs else None
        if first is None or first.name != name:
            return None
        op = first
    found = graph.ops.get(op.inputs[0].op)
    return found if found is not None and found.name == "sub" else None


def _noise(graph: Graph, op: Op | None) -> bool:
    """Random numbers times a scale."""
    if op is None or op.name not in PRODUCTS:
        return False
    return any(found.name in RANDOM for _, found in graph.operands(op))
