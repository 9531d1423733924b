"""The losses of a run, each by its latest backwards."""

from __future__ import annotations

from collections.abc import Iterator

from whygrad.trace.ledger import Backward
from whygrad.trace.trace import Trace, worked_out_once

MOST = 2
"""Backwards of one loss that are looked at."""


@worked_out_once
def latest(trace: Trace) -> tuple[Backward, ...]:
    """For each loss the traced backwards that tell most: its last ones.

    A loss is a call of backward together with the expression that made its value: several losses may
    go through one helper that calls backward.
    """
    return tuple(_latest(trace))


def _latest(trace: Trace) -> Iterator[Backward]:
    losses: dict[object, list[Backward]] = {}
    for backward in trace.rooted:
        assert backward.root is not None
        losses.setdefault((backward.site, trace.graph[backward.root].site), []).append(backward)
    takers = _takers(trace)
    for group in losses.values():
        # At the end of a window some of the steps that use a backward may not have been seen.
        whole = max(len(takers.get(backward.id, ())) for backward in group)
        yield from [b for b in group if len(takers.get(b.id, ())) == whole][-MOST:]


@worked_out_once
def _takers(trace: Trace) -> dict[int, set[int]]:
    """Optimizers that used a backward, by backward."""
    out: dict[int, set[int]] = {}
    for step in trace.steps:
        for ids in step.consumed.values():
            for number in ids:
                out.setdefault(number, set()).add(step.optimizer)
    return out
