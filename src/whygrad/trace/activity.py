"""Units that pass nothing on: rectified to zero, or squashed flat."""

from __future__ import annotations

from dataclasses import dataclass

from whygrad.trace.graph import Graph, Op
from whygrad.trace.operations import RECTIFIERS, SHAPING, SQUASHERS, SUMS

THROUGH = SHAPING | SUMS | {"dropout", "max_pool2d", "avg_pool2d"}
"""What may stand between a layer and its activation."""


@dataclass(slots=True)
class Activity:
    """An activation over one batch; several uses of one layer are taken together."""

    saturates: bool
    """Flat at both ends (tanh, sigmoid), rather than zero below zero."""
    idle: float
    """Share of the values through which no gradient passes: zero, or saturated."""
    units: int = 0
    off: int | None = None
    """Bits of the units that are zero for the whole batch."""
    uses: int = 1

    @property
    def dead(self) -> float | None:
        return self.off.bit_count() / self.units if self.off is not None and self.units else None

    def add(self, other: Activity) -> None:
        self.uses += 1
        self.idle += (other.idle - self.idle) / self.uses
        both = self.off is not None and other.off is not None and self.units == other.units
        self.off = self.off & other.off if both and self.off is not None and other.off is not None else None


def activity(graph: Graph, root: int) -> dict[int, Activity]:
    """Activations on the way to a loss, by the weight of the layer that each one stands behind."""
    out: dict[int, Activity] = {}
    for op in graph.carrying(root):
        if op.facts is None or op.facts.killed is None or op.name not in RECTIFIERS | SQUASHERS:
            continue
        weight = _weight(graph, op)
        if weight is not None:
            found = Activity(op.name in SQUASHERS, op.facts.killed, op.facts.units, op.facts.dead)
            if weight in out:
                out[weight].add(found)
            else:
                out[weight] = found
    return out


def _weight(graph: Graph, activation: Op) -> int | None:
    """The weight of the layer below; that of a normalisation only if there is nothing else."""
    found: int | None = None
    op = _below(graph, activation)
    while op is not None:
        if op.layer:
            weights = [(len(f.shape), f.parameter) for _, f in graph.operands(op) if f.parameter is not None]
            if not weights:
                return found
            dimensions, best = max(weights)
            found = found if found is not None and dimensions < 2 else best
            if dimensions > 1:
                return found
        elif op.name not in THROUGH:
            return found
        op = _below(graph, op)
    return found


def _below(graph: Graph, op: Op) -> Op | None:
    carrying = [i.op for i in op.inputs if op.passes(i) and not i.selector]
    below = graph.ops.get(carrying[0]) if carrying else None
    return below if below is not None and below.parameter is None else None
