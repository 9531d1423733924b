"""The losses of one step that share a batch out among them: whether each is a mean, and by whose count."""

from __future__ import annotations

import math
from dataclasses import dataclass

from whygrad.trace.anatomy import head
from whygrad.trace.graph import Graph, Op
from whygrad.trace.ledger import Backward, Step
from whygrad.trace.operations import SCALINGS
from whygrad.trace.pieces import Pieces, pieces
from whygrad.trace.reductions import Reduction, reductions
from whygrad.trace.trace import Trace

UNSCALED = (1.0, 0.5)
"""Factors of a loss that was not divided by a number of micro-batches; a half is part of many a formula."""


@dataclass(frozen=True, slots=True)
class MicroBatches:
    pieces: Pieces
    averaged: bool
    """Each loss is a mean over its own rows, and no number on the way could be the number of micro-batches."""
    beyond: Op | None
    """A count that divides each sum and takes in rows that no loss of the step has."""


def micro_batches(trace: Trace, step: Step, kept: list[Backward]) -> MicroBatches | None:
    """Seen on those losses of a step that were kept; None if they are not pieces of one batch."""
    graph, last = trace.graph, kept[-1]
    consumed = {i for ids in step.consumed.values() for i in ids}
    alike = [b for b in trace.backwards if b.id in consumed and (b.site, b.made) == (last.site, last.made)]
    if len({b.deposits for b in alike}) > 1:
        return None  # Each trains something of its own: heads, agents.
    earlier = [s.consumed.values() for s in trace.steps if s.optimizer == step.optimizer and s.order < step.order]
    if any(b.id in ids for b in alike for found in earlier for ids in found):
        return None  # Not accumulated: nobody cleared them.
    found = pieces(graph, kept, len(alike))
    if found is None:
        return None
    roots = [b.root for b in kept if b.root is not None]
    terms = [reductions(graph, root) for root in roots]
    averaged = all(_averaged(graph, one, found) for one in terms) and not any(_share(graph, r, found) for r in roots)
    return MicroBatches(found, averaged, _beyond(graph, terms, found))


def _averaged(graph: Graph, terms: list[Reduction], shared: Pieces) -> bool:
    """Means over the rows of one micro-batch, the largest of them as it is."""
    largest = max((abs(term.scale) for term in terms if term.scale is not None), default=0.0)
    factors = UNSCALED if shared.count > 2 else UNSCALED[:1]
    means = all(term.averages(graph) and not _added_before(graph, term, shared.rows) for term in terms)
    # An episode is as long as it happens to be; what is counted by a mask of its own is a batch of sequences.
    packed = not shared.uneven or all(term.masked(graph) for term in terms)
    return means and packed and any(math.isclose(largest, factor) for factor in factors)


def _added_before(graph: Graph, term: Reduction, rows: int) -> bool:
    """A sum takes the rows together before the mean is taken, which is then over something else."""
    for op in head(graph, term.op.id):
        source = next((found for operand, found in graph.operands(op) if not operand.selector), None)
        if op.name != "sum" or op is term.op or source is None or source.shape[:1] != (rows,):
            continue
        if op.shape[:1] != (rows,) or (op.facts is not None and op.facts.dim == 0):
            return True
    return False


def _share(graph: Graph, root: int, shared: Pieces) -> bool:
    """Something on the way is scaled by the number of micro-batches, or by the share of one."""
    known = {float(shared.count), 1 / shared.count, shared.rows / shared.whole, shared.whole / shared.rows}
    numbers = [op.scalar for op in head(graph, root, gradient=False) if op.name in SCALINGS and op.scalar]
    return any(math.isclose(number, one, rel_tol=1e-3) for number in numbers for one in known)


def _beyond(graph: Graph, terms: list[list[Reduction]], shared: Pieces) -> Op | None:
    if (
        shared.steps < 2
        or shared.uneven
        or any(len(one) != 1 or len(one[0].counts) != 1 or one[0].op.name != "sum" for one in terms)
    ):
        return None
    counts = [one[0].counts[0] for one in terms]
    counted = {found.id: found for op in counts for operand, found in graph.operands(op) if not operand.selector}
    rows = {found.shape[:1] for found in counted.values()}
    return counts[-1] if len(counted) == 1 and rows == {(shared.whole,)} else None
