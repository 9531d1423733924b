"""Optimizers that step for a while and then no more, although their loss is differentiated as before."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from whygrad.trace.ledger import Backward, Optimizer, Step
from whygrad.trace.trace import Trace, worked_out_once
from whygrad.trace.uses import loss_of

OFTEN = 2
"""Backwards of its own loss that were seen after its last step."""
LONG = 20
"""It must have been away for so many times the longest pause that it made before: delayed updates are no end."""


@dataclass(slots=True)
class Abandoned:
    """An optimizer that does not step any more."""

    optimizer: Optimizer
    parameters: frozenset[int]
    """What its losses still deposit on."""
    step: Step
    """Its last traced step."""
    backwards: list[Backward]
    """Those of its own losses that came after its last step."""
    since: int
    """The update by which it had made its last step."""
    exact: bool
    """Nothing is estimated: its last step was traced."""


@worked_out_once
def abandoned(trace: Trace) -> list[Abandoned]:
    stepped: dict[int, list[Step]] = {}
    for step in trace.steps:
        stepped.setdefault(step.optimizer, []).append(step)
    by_id = {backward.id: backward for backward in trace.backwards}
    found = (_case(trace, o, stepped[o.id], by_id) for o in trace.optimizers if len(stepped.get(o.id, ())) > 1)
    return [case for case in found if case is not None]


def _case(trace: Trace, optimizer: Optimizer, steps: list[Step], by_id: dict[int, Backward]) -> Abandoned | None:
    """Steps are counted, traced or not: what is left of them after the last traced one tells when they were over."""
    last = steps[-1]
    if not last.own or any(step.closure for step in steps):
        return None
    pause = max(_pause(one, other) for one, other in pairwise(steps))
    since = last.update + round((optimizer.steps - last.own) * pause)
    if trace.updates - since < LONG * pause:
        return None
    own = {loss_of(by_id[i]) for step in steps for ids in step.consumed.values() for i in ids if i in by_id}
    held = set(optimizer.parameters)
    after = [b for b in trace.backwards if b.order > last.order and b.update >= since and b.deposits & held]
    after = [b for b in after if loss_of(b) in own and b.how == "backward"]
    used = {i for step in trace.steps if step.order > last.order for ids in step.consumed.values() for i in ids}
    if len(after) < OFTEN or any(b.id in used for b in after):
        return None
    deposits = frozenset[int]().union(*(b.deposits for b in after)) & held
    return Abandoned(optimizer, deposits, last, after, since, optimizer.steps == last.own)


def _pause(one: Step, other: Step) -> float:
    """Updates of all optimizers from a step of this one to its next."""
    return (other.update - one.update) / max(other.own - one.own, 1)
