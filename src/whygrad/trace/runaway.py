"""Values that leave behind everything the rewards could add up to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from whygrad.trace.anatomy import adds_scaled_network, behind_shaping, head, heads
from whygrad.trace.errors import Error, errors
from whygrad.trace.evaluations import Evaluation, evaluations
from whygrad.trace.graph import Graph, Op
from whygrad.trace.operations import SCALINGS
from whygrad.trace.trace import Trace

LOWEST, UNKNOWN = 0.8, 0.99
"""A factor from which on it may be a discount; what is assumed where none is written."""


@dataclass(slots=True)
class Runaway:
    """A bootstrapped value that grows without end."""

    last: Evaluation
    sizes: list[tuple[int, float]]
    """Updates and mean magnitudes of the prediction."""
    reward: float
    """The largest that was seen."""
    most: float
    """What such rewards add up to, discounted."""
    parameters: frozenset[int]


def runaways(trace: Trace, beyond: float, growth: float, enough: int) -> list[Runaway]:
    """Predictions `beyond` times above every discounted sum, growing so much from one to the next so often."""
    out: dict[object, Runaway] = {}
    for group in evaluations(trace, _measured):
        met = [(e, error) for e in group if (error := _error(trace, e)) is not None and error.bootstraps]
        rewards = [_reward(trace, error) for _, error in met]
        if len(met) < enough or not all(rewards):
            continue
        reward = max(rewards)
        most = reward / (1 - max(_discount(trace.graph, error) for _, error in met))
        sizes = [(e.backward.update, _typical(e.op)) for e, _ in met]
        latest = [size for _, size in sizes[-enough:]]
        grows = all(later >= growth * earlier for earlier, later in pairwise(latest))
        if grows and latest[-1] > beyond * most:
            last, error = met[-1]
            out.setdefault(last.op.site, Runaway(last, sizes, reward, most, error.predicts(trace.graph)))
    return list(out.values())


def _measured(op: Op) -> bool:
    return op.facts is not None and op.facts.typical is not None


def _typical(op: Op) -> float:
    return op.facts.typical if op.facts is not None and op.facts.typical is not None else 0.0


def _error(trace: Trace, evaluation: Evaluation) -> Error | None:
    """The error that this difference, or this loss, is."""
    assert evaluation.backward.root is not None
    for error in errors(trace.graph, evaluation.backward.root):
        if evaluation.op.id in {error.op.id, *(found.id for _, found in trace.graph.operands(error.op))}:
            return error
    return None


def _reward(trace: Trace, error: Error) -> float:
    """The largest magnitude among the data that the target adds; 0 when it is not known."""
    data = [s for s in error.target if not trace.graph.made_from(s.op)]
    found = [behind_shaping(trace.graph, s.op) for s in data if not (s.number or s.scaled)]
    sizes = [op.facts.largest for op in found if op is not None and not op.inputs and op.facts is not None]
    known = [size for size in sizes if size is not None]
    if known and len(known) == len(data):
        return max(known)
    return max(_computed(trace.graph, error), default=0.0)


def _computed(graph: Graph, error: Error) -> Iterator[float]:
    """The same where the script computes its rewards: what a sum adds to a discounted value."""
    for op in head(graph, error.op.id, gradient=False):
        if op.facts is None or op.facts.addends is None or len(op.inputs) != 2:
            continue
        values = [operand.op in graph.ops and adds_scaled_network(graph, operand.op) for operand in op.inputs]
        if values[0] != values[1]:
            yield op.facts.addends[values.index(False)]


def _discount(graph: Graph, error: Error) -> float:
    """As written in the target, if it is: the largest factor just below one."""
    joined = dict.fromkeys(summand.joined for summand in error.target if summand.scaled)
    factors = [
        op.scalar
        for op in heads(graph, joined, gradient=False)
        if op.name in SCALINGS and op.scalar is not None and LOWEST <= op.scalar < 1
    ]
    return max(factors, default=UNKNOWN)
