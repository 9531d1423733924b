"""Samples recovered from squashed actions: `atanh(clamp(tanh(x)))` is not x where the action lies at its bounds."""

from __future__ import annotations

from dataclasses import dataclass

from whygrad.trace.anatomy import behind_shaping
from whygrad.trace.graph import Graph, Op
from whygrad.trace.ledger import Backward
from whygrad.trace.operations import SCALINGS, SHAPING, SUMS

AFFINE = SUMS | SCALINGS | SHAPING
FEWEST = 0.1
"""Share of the batch at the bounds from which the recovered samples are wrong often enough to matter."""


@dataclass(slots=True)
class Unsquashed:
    clamp: Op
    inverse: Op
    share: float
    """Of the batch: how much of it lay beyond the bounds of the clamp."""


def unsquashed(graph: Graph, backward: Backward) -> Unsquashed | None:
    """The inverse of a tanh behind this loss, where the clamp before it changed part of the batch."""
    for inverse in graph.carrying(backward.root or 0):
        clamp = graph.ops.get(inverse.inputs[0].op) if inverse.name == "atanh" else None
        share = clamp.facts.killed if clamp is not None and clamp.facts is not None else None
        if clamp is not None and share is not None and share >= FEWEST and _squashed(graph, clamp):
            return Unsquashed(clamp, inverse, share)
    return None


def _squashed(graph: Graph, op: Op) -> bool:
    """A tanh, shifted and scaled at most, is what comes in."""
    while True:
        carrying = [i.op for i in op.inputs if op.passes(i)]
        found = behind_shaping(graph, carrying[0]) if len(carrying) == 1 else None
        if found is None or found.name == "tanh" or found.name not in AFFINE:
            return found is not None and found.name == "tanh"
        op = found
