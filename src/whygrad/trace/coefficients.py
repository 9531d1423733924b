"""Losses that a number in the script switches off and on again."""

from __future__ import annotations

from dataclasses import dataclass

from whygrad.trace.evaluations import Evaluation, evaluations
from whygrad.trace.graph import Op
from whygrad.trace.ledger import Optimizer
from whygrad.trace.likeness import score_like
from whygrad.trace.operations import PRODUCTS
from whygrad.trace.paths import only_through
from whygrad.trace.trace import Trace

OFTEN = 2
"""Updates in which it was off after it had been on."""


@dataclass(slots=True)
class SwitchedOff:
    """A loss times zero, whose optimizer steps all the same and moves by what it remembers of earlier gradients."""

    latest: Evaluation
    optimizer: Optimizer
    parameters: frozenset[int]
    off: int
    times: int


def switched_off(trace: Trace) -> list[SwitchedOff]:
    found = []
    for group in evaluations(trace, lambda op: _weighs(trace, op)):
        flags = [e.op.scalar == 0.0 for e in group]
        off = [e for n, e in enumerate(group) if flags[n] and not all(flags[:n])]
        again = any(not flag and any(flags[:n]) for n, flag in enumerate(flags))
        if len(off) < OFTEN or not again:
            continue  # It warms up or fades out: that happens once.
        carried = [(o, p) for e in off for o, p in _carried_on(trace, e)]
        if carried:
            optimizer, parameters = carried[-1]
            found.append(SwitchedOff(off[-1], optimizer, parameters, sum(flags), len(group)))
    return found


def _weighs(trace: Trace, op: Op) -> bool:
    """A whole loss times a number. What weighs a log-probability is a return, and may be zero by luck."""
    if op.name not in PRODUCTS or op.scalar is None or op.shape or len(op.inputs) != 1:
        return False
    return not score_like(trace.graph, op.inputs[0].op)


def _carried_on(trace: Trace, off: Evaluation) -> list[tuple[Optimizer, frozenset[int]]]:
    """Optimizers with momentum that step parameters for which this product is all the gradient there is."""
    lost = only_through(trace.graph, off.backward.root or 0, off.op.id)
    out = []
    for step in trace.steps:
        optimizer = trace.optimizers[step.optimizer]
        moved = frozenset(n for n in lost if step.consumed.get(n) == (off.backward.id,))
        if moved and optimizer.momentum:
            out.append((optimizer, moved))
    return out
