"""Parameters that are trained in name only: steps find a gradient, and the values are the first ones to the end."""

from __future__ import annotations

from collections import Counter

from whygrad.trace.consumption import trained
from whygrad.trace.grouping import modules
from whygrad.trace.ledger import Optimizer, Step
from whygrad.trace.trace import Trace, worked_out_once

OFTEN = 3
"""Compared steps that left a parameter alone."""
LONG = 20
"""Steps with a gradient, before a look at which the values were still the first ones."""
MOST = 0.75
"""Of its steps with a gradient: weights that are gone with the function that made them have no last look."""
AT_REST = 1e-4
"""A gradient so much smaller than one that moves weights need not move any: what it belongs to has arrived."""
NEXT_TO_NOTHING = 1e-6
"""The same where nothing moves at all."""


def compared(trace: Trace, optimizer: Optimizer) -> list[Step]:
    """Steps around which values were compared, without those that half precision has rounded away."""
    mine = [step for step in trace.steps if step.optimizer == optimizer.id]
    return [step for step in mine if step.changed is not None and not step.rounded_away]


def left_alone(trace: Trace, optimizer: Optimizer) -> frozenset[int]:
    """Whole modules or parameter groups that its steps never move, beside others that they do."""
    times = Counter(number for step in compared(trace, optimizer) for number in step.stayed)
    least = _least(trace, optimizer)
    idle = {n for n in optimizer.parameters if times[n] >= OFTEN and _as_at_first(trace, n, least)}
    idle = {n for n in idle if trace.parameter(n).vain == trace.parameter(n).consumed}
    held = set(optimizer.parameters)
    parts = [held.intersection(numbers) for numbers in modules(trace).values()] + [set(g) for g in optimizer.groups]
    return frozenset().union(*(_all_idle(trace, part, idle) for part in parts))


@worked_out_once
def unmoved(trace: Trace) -> frozenset[int]:
    """All such modules as of the last look, also those that steps move and something else puts back.

    Of a large parameter some values are compared, maybe those that no gradient ever reached: one of which all are
    must be with it. A bare one may be what each update begins with anew: a plan, a disturbance.
    """
    rows = [p for p in trace.parameters if p.id in trace.holders]
    idle = {p.id for p in rows if _as_at_first(trace, p.id, NEXT_TO_NOTHING)}
    sure = {p.id for p in rows if p.id in idle and not p.sampled and p.name != p.module}
    back = [_all_idle(trace, set(numbers), idle) for numbers in modules(trace).values() if sure.intersection(numbers)]
    return frozenset().union(*back, *(left_alone(trace, optimizer) for optimizer in trace.optimizers))


@worked_out_once
def moving(trace: Trace) -> frozenset[int]:
    """Parameters that training moves, as far as anybody could see."""
    return trained(trace) - unmoved(trace)


def _as_at_first(trace: Trace, number: int, least: float) -> bool:
    parameter = trace.parameter(number)
    lasting = parameter.vain >= LONG and parameter.vain >= MOST * parameter.consumed
    return lasting and largest(trace).get(number, 0.0) > least


def _all_idle(trace: Trace, part: set[int], idle: set[int]) -> set[int]:
    """Those of a module or group that get gradient, where none of them moves."""
    fed = {n for n in part if trace.parameter(n).consumed}
    return fed if fed <= idle else set()


def _least(trace: Trace, optimizer: Optimizer) -> float:
    """The gradient that would have to move something, by what moves the others."""
    others = [n for n in optimizer.parameters if not trace.parameter(n).vain]
    return max(NEXT_TO_NOTHING, AT_REST * max((largest(trace).get(n, 0.0) for n in others), default=0.0))


@worked_out_once
def largest(trace: Trace) -> dict[int, float]:
    """By parameter: the largest gradient that was seen on it."""
    out: dict[int, float] = {}
    for backward in trace.backwards:
        for number, size in backward.largest.items():
            out[number] = max(size, out.get(number, 0.0))
    return out
