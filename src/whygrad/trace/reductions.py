"""How a loss makes one number of its batch: as means, as sums, or as sums over a count of its own."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from whygrad.trace.graph import Graph, Op
from whygrad.trace.operations import DIVISIONS, PRODUCTS, SCALINGS, SHAPING, SUMS

MEANS = frozenset(
    {"mean", "mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss", "cross_entropy", "nll_loss", "kl_div"}
    | {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
)
COUNTING = frozenset({"sum", "count_nonzero"})
KEEPING = SUMS | {"clamp", "amax", "maximum", "to", "squeeze"}
"""What leaves a count a count: a floor that keeps it from zero, another type."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """One term of a loss that is a single number."""

    op: Op
    """What makes one number of many."""
    scale: float | None
    """What the number is multiplied by on the way to the loss; None: by something that is not known."""
    counts: tuple[Op, ...]
    """Counts it is divided by, as far as they were computed from tensors."""

    def averages(self, graph: Graph) -> bool:
        """A mean over its own elements, however written."""
        if self.op.name in MEANS:
            return takes_mean(self.op)
        if self.op.name != "sum" or len(self.counts) != 1:
            return False
        summed, counted = _counted(graph, self.op), _counted(graph, self.counts[0])
        return counted is not None and summed is not None and counted.shape[:1] == summed.shape[:1]

    def masked(self, graph: Graph) -> bool:
        """What divides it counts elements of rows, such as the tokens of sequences."""
        counted = [_counted(graph, count) for count in self.counts if count is not self.op]
        return any(found is not None and len(found.shape) > 1 for found in counted)


def takes_mean(op: Op) -> bool:
    """Many numbers go in and their mean comes out."""
    summed = op.facts is not None and op.facts.summed
    return op.name == "mean" or (op.name in MEANS and not summed and prod(op.shape) == 1)


def reductions(graph: Graph, root: int) -> list[Reduction]:
    """The terms of a loss, each down to what makes one number of many; nothing if some part is not understood."""
    found: list[Reduction] = []
    stack: list[tuple[int, float | None, tuple[Op, ...]]] = [(root, 1.0, ())]
    while stack:
        number, scale, counts = stack.pop()
        op = graph.ops.get(number)
        if op is None:
            return []
        carrying = [i.op for i in op.inputs if op.passes(i) and not i.selector]
        single = [n for n in carrying if n in graph.ops and prod(graph[n].shape) == 1]
        if op.name == "sum" or op.name in MEANS:
            found.append(_written_out(graph, Reduction(op, scale, counts)))
        elif op.name in SUMS and carrying == single:
            stack.extend((n, scale, counts) for n in carrying)
        elif (op.name in SCALINGS or op.name in SHAPING) and len(carrying) == 1 and carrying == single:
            stack.append((carrying[0], *_scaled(graph, op, carrying[0], scale, counts)))
        else:
            return []
    return found


def count_behind(graph: Graph, number: int) -> Op | None:
    """The sum that a divisor is, once a floor or a change of type is taken off."""
    op = graph.ops.get(number)
    while op is not None and op.name not in COUNTING:
        values = [i.op for i in op.inputs if not i.inferred]
        op = graph.ops.get(values[0]) if op.name in KEEPING and len(values) == 1 else None
    return op if op is not None and prod(op.shape) == 1 else None


def _scaled(
    graph: Graph, op: Op, carrying: int, scale: float | None, counts: tuple[Op, ...]
) -> tuple[float | None, tuple[Op, ...]]:
    if op.name in SHAPING:
        return scale, counts
    others = [i.op for i in op.inputs if i.op != carrying]
    if op.scalar and not others:
        factor = op.scalar if op.name in PRODUCTS else 1 / op.scalar
        return (scale * factor if scale is not None else None), counts
    count = count_behind(graph, others[0]) if op.name in DIVISIONS and len(others) == 1 else None
    return (scale, (*counts, count)) if count is not None else (None, counts)


def _written_out(graph: Graph, found: Reduction) -> Reduction:
    """A sum over as many elements (or rows) as a number says divides by: a mean, written out."""
    summed = _counted(graph, found.op)
    if found.op.name != "sum" or found.counts or found.scale is None or summed is None or not summed.shape:
        return found
    for size in {prod(summed.shape), summed.shape[0]}:
        if size > 1 and abs(abs(found.scale) * size - 1) < 1e-6:
            return Reduction(found.op, 1.0, (found.op,))
    return found


def _counted(graph: Graph, op: Op) -> Op | None:
    """What a sum adds up."""
    return next((source for operand, source in graph.operands(op) if not operand.selector), None)
