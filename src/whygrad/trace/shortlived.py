"""Optimizers that one line builds again and again for the same parameters: what they remember lives for a step."""

from __future__ import annotations

from whygrad.trace.ledger import Optimizer
from whygrad.trace.trace import Trace

MANY = 8
"""Of them, before it is no accident."""
FEW = 2
"""Steps that each makes at most."""


def short_lived(trace: Trace) -> list[list[Optimizer]]:
    """Groups of such, where averages of gradients were to be kept, and nothing else has stepped those parameters.

    Weights that are loaded in between are set back on purpose, as for one task after another.
    """
    lines: dict[object, list[Optimizer]] = {}
    for optimizer in trace.optimizers:
        if optimizer.site is not None and optimizer.steps and (optimizer.adaptive or optimizer.momentum):
            lines.setdefault((optimizer.site, frozenset(optimizer.parameters)), []).append(optimizer)
    return [group for group in lines.values() if len(group) >= MANY and _alone(trace, group)]


def _alone(trace: Trace, group: list[Optimizer]) -> bool:
    numbers = group[0].parameters
    known = {optimizer.id for optimizer in group}
    others = any(o.steps and o.id not in known for n in numbers for o in trace.holders.get(n, ()))
    loaded = any(trace.parameter(n).loaded for n in numbers)
    return max(o.steps for o in group) <= FEW and not others and not loaded
