"""What a policy earns, as far as it shows: in the weights of its log-probabilities, in what its critic is fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean

from whygrad.trace.anatomy import formula, heads, of_network
from whygrad.trace.errors import errors
from whygrad.trace.graph import Graph, Op
from whygrad.trace.ledger import Backward
from whygrad.trace.operations import PRODUCTS

CENTRED = 0.05
"""An average this small beside the deviation: its mean was taken off, so it does not tell what was earned."""


@dataclass(frozen=True, slots=True)
class Earned:
    """Some data of one batch."""

    average: float
    deviation: float


Earnings = dict[object, list[Earned]]
"""By the line where the data came in or met a prediction. Batch by batch only the same line can be compared."""


def earnings(graph: Graph, backwards: Iterable[Backward]) -> Earnings:
    out: Earnings = {}
    for backward in backwards:
        if backward.root is not None:
            for op, found in (*_weights(graph, backward.root), *_targets(graph, backward.root)):
                out.setdefault((op.site, op.library, op.name), []).append(found)
    return out


def _weights(graph: Graph, root: int) -> Iterator[tuple[Op, Earned]]:
    """The constant factors of a loss, and the data that came in behind them: rewards, returns.

    Of an episode all in one walk: each return holds all the later rewards.
    """
    weights: list[int] = []
    for product in formula(graph, root):
        factors = [(product.passes(operand), found) for operand, found in graph.operands(product)]
        if product.name not in PRODUCTS or [passes for passes, _ in factors].count(False) != 1 or len(factors) != 2:
            continue
        weight = next(found for passes, found in factors if not passes)
        facts = product.facts
        if facts is not None and facts.weight is not None and not of_network(graph, weight.id):
            yield from _seen(product, facts.weight)
        weights.append(weight.id)
    for op in heads(graph, dict.fromkeys(weights), gradient=False):
        if op.facts is not None and not op.inputs:
            yield from _seen(op, op.facts.average)
        yield from _met(graph, op)


def _targets(graph: Graph, root: int) -> Iterator[tuple[Op, Earned]]:
    for error in errors(graph, root):
        for op in (error.op, *(found for _, found in graph.operands(error.op))):
            yield from _met(graph, op)


def _met(graph: Graph, op: Op) -> Iterator[tuple[Op, Earned]]:
    """Data at the line that compares it with a prediction, takes a baseline off it, or adds a discounted value.

    A bootstrapped target rises with the network's own values.
    """
    data = [found for operand, found in graph.operands(op) if not op.passes(operand)]
    data = data if op.requires_grad else data[:1]
    if op.facts is not None and op.facts.goal is not None and len(data) == 1 and not of_network(graph, data[0].id):
        yield from _seen(op, op.facts.goal)
    if op.facts is not None and len(op.facts.averages) == len(op.inputs):
        for operand, average in zip(op.inputs, op.facts.averages, strict=True):
            if operand.op in graph.ops and not of_network(graph, operand.op):
                yield op, Earned(average, abs(average))


def _seen(op: Op, average: float | None) -> Iterator[tuple[Op, Earned]]:
    if average is not None and op.facts is not None and op.facts.deviation is not None:
        yield op, Earned(average, op.facts.deviation)


def improved(before: Earnings, after: Earnings, by: float) -> bool | None:
    """Whether more is earned than at first, by so many deviations of what was earned then. None: it does not show."""
    telling = [place for place in before.keys() & after.keys() if not _centred([*before[place], *after[place]])]
    return any(_rises(before[place], after[place], by) for place in telling) if telling else None


def _centred(batches: list[Earned]) -> bool:
    widest = max(one.deviation for one in batches)
    return all(abs(one.average) <= CENTRED * widest for one in batches)


def _rises(before: list[Earned], after: list[Earned], by: float) -> bool:
    first, later = fmean(one.average for one in before), fmean(one.average for one in after)
    return later > first + by * fmean(one.deviation for one in before)
