"""Values that leave behind everything the rewards could add up to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from whygrad.trace.anatomy import behind_shaping
from whygrad.trace.errors import Error, errors
from whygrad.trace.evaluations import Evaluation, evaluations
from whygrad.trace.graph import Op
from whygrad.trace.trace import Trace


@dataclass(slots=True)
class Runaway:
    """A bootstrapped value that grows without end."""

    last: Evaluation
    sizes: list[tuple[int, float]]
    """Updates and mean magnitudes of the prediction."""
    reward: float
    """The largest that was seen."""
    parameters: frozenset[int]


def runaways(trace: Trace, beyond: float, growth: float, enough: int) -> list[Runaway]:
    """Predictions more than `beyond` times the largest reward, growing so much from one to the next so often."""
    out: dict[object, Runaway] = {}
    for group in evaluations(trace, _measured):
        met = [(e, error) for e in group if (error := _error(trace, e)) is not None and error.bootstraps]
        rewards = [_reward(trace, error) for _, error in met]
        if len(met) < enough or not all(rewards):
            continue
        reward = max(rewards)
        sizes = [(e.backward.update, _typical(e.op)) for e, _ in met]
        latest = [size for _, size in sizes[-enough:]]
        grows = all(later >= growth * earlier for earlier, later in pairwise(latest))
        if grows and latest[-1] > beyond * reward:
            last, error = met[-1]
            out.setdefault(last.op.site, Runaway(last, sizes, reward, error.predicts(trace.graph)))
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
    return max(known, default=0.0) if len(known) == len(data) else 0.0
