"""The losses of a run, each by its traced backwards: the latest, or all of them and since when they show something."""

from __future__ import annotations

from collections.abc import Iterable

from whygrad.trace.ledger import Backward
from whygrad.trace.spells import Spell, between, spell
from whygrad.trace.trace import Trace, worked_out_once

MOST = 2
"""Backwards of one loss that are looked at."""
OFTEN = 2
"""Backwards that must show what the latest do not show any more."""


@worked_out_once
def latest(trace: Trace) -> tuple[Backward, ...]:
    """For each loss the traced backwards that tell most: its last ones."""
    return tuple(b for group in complete(trace).values() for b in group[-MOST:])


@worked_out_once
def kept(trace: Trace) -> tuple[Backward, ...]:
    """All of them: what the first updates showed is not forgotten."""
    return tuple(b for group in complete(trace).values() for b in group)


@worked_out_once
def complete(trace: Trace) -> dict[object, list[Backward]]:
    """By loss the traced backwards of which all that used them was seen.

    At the end of a window some of the steps that use a backward may not have been.
    """
    losses: dict[object, list[Backward]] = {}
    for backward in trace.rooted:
        losses.setdefault(loss(trace, backward), []).append(backward)
    takers = _takers(trace)
    for group in losses.values():
        whole = max(len(takers.get(backward.id, ())) for backward in group)
        group[:] = [b for b in group if len(takers.get(b.id, ())) == whole]
    return losses


def loss(trace: Trace, backward: Backward) -> object:
    """A call of backward together with the expression that made its value: several may go through one helper."""
    root = trace.graph.ops.get(backward.root) if backward.root is not None else None
    return backward.site, root.site if root is not None else backward.made


def duration(trace: Trace, shown: Iterable[Backward]) -> Spell | None:
    """The part of the run in which these backwards showed something, of all that could have; None if none is proven.

    What the last ones show counts by itself, as there may not be more of it yet.
    """
    found = {b.id: b for b in shown}
    losses = dict.fromkeys(loss(trace, b) for b in found.values())
    asked = found | {b.id: b for place in losses for b in complete(trace).get(place, ())}
    looks = [(b.update + 1, b.id in found) for b in sorted(asked.values(), key=lambda b: b.order)]
    when = spell(looks, OFTEN)
    unproven = when is None and not any(b.id in found for b in latest(trace)) and trace.raised is None
    return None if unproven else when or between(looks)


@worked_out_once
def _takers(trace: Trace) -> dict[int, set[int]]:
    """Optimizers that used a backward, by backward."""
    out: dict[int, set[int]] = {}
    for step in trace.steps:
        for ids in step.consumed.values():
            for number in ids:
                out.setdefault(number, set()).add(step.optimizer)
    return out
