"""A limit that is put on the gradients of a step over and over, while they are still being summed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from whygrad.trace.ledger import Clip, Step
from whygrad.trace.trace import Trace


def partly_clipped(trace: Trace, clips: Sequence[Clip]) -> list[tuple[Step, list[Clip]]]:
    """Steps whose sum one line of code cut down after some of the backwards, and again after the next ones."""
    found: list[tuple[Step, list[Clip]]] = []
    start = -1
    for step in trace.steps:
        held = frozenset(trace.optimizers[step.optimizer].parameters)
        run = [c for c in clips if start < c.order < step.order and c.present & held]
        if not run:
            continue
        start = step.order
        early = [clip for clip, following in pairwise(run) if _goes_on(trace, clip, following, step)]
        if len(early) < len(run) - 1 or len(run) < 2:
            return []  # Here it is called once for the step, or for something else.
        if any(clip.size is not None and clip.size > abs(clip.limit) for clip in early):
            found.append((step, run))
    return found


def _goes_on(trace: Trace, clip: Clip, following: Clip, step: Step) -> bool:
    """More of the same loss is added between two calls, and the step applies what both have left."""
    consumed = {i for ids in step.consumed.values() for i in ids}
    before = [b for b in trace.backwards if b.order < clip.order and b.deposits & clip.present and b.id in consumed]
    between = [b for b in trace.backwards if clip.order < b.order < following.order and b.deposits & clip.present]
    added = bool(between) and all(b.id in consumed for b in between)
    return added and bool(before) and {(b.site, b.made) for b in between} == {(before[-1].site, before[-1].made)}
