"""Games: one player's loss is the other's with the sign turned, and a step gets both."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from whygrad.trace.graph import Graph
from whygrad.trace.ledger import Backward, Step
from whygrad.trace.losses import latest
from whygrad.trace.signs import signed
from whygrad.trace.trace import Trace


def opposed(trace: Trace) -> Iterator[tuple[Backward, frozenset[int]]]:
    """What a player's loss left on the other player, whose own loss came after that player's step and cancels it."""
    for one, other in itertools.combinations(latest(trace), 2):
        if _loss(one) == _loss(other) or not _negated(trace.graph, one, other):
            continue
        for step in reversed(trace.steps):
            found = _both(trace, step, one, other)
            if found is not None:
                yield found
                break


def _negated(graph: Graph, one: Backward, other: Backward) -> bool:
    """Whether the same cost, one number by the same expression, enters both with opposite signs."""
    signs = dict(_costs(graph, one))
    return any(signs.get(place, sign) != sign for place, sign in _costs(graph, other))


def _costs(graph: Graph, backward: Backward) -> Iterator[tuple[object, int]]:
    for op, sign in signed(graph, backward.root or 0):
        if op.site is not None and not op.shape and not op.layer:
            yield (op.site, op.name), sign


def _both(trace: Trace, step: Step, one: Backward, other: Backward) -> tuple[Backward, frozenset[int]] | None:
    losses = {b.id: b for b in trace.backwards if _loss(b) in (_loss(one), _loss(other))}
    mixed: dict[int, frozenset[int]] = {}
    for number, ids in step.consumed.items():
        found = sorted(losses.keys() & set(ids))
        if {_loss(losses[i]) for i in found} == {_loss(one), _loss(other)}:
            mixed[found[0]] = mixed.get(found[0], frozenset()) | {number}
    for first, numbers in mixed.items():
        following = [b for b in losses.values() if b.order > losses[first].order and b.order < step.order]
        own = [s for s in trace.steps if losses[first].order < s.order < min(b.order for b in following)]
        elsewhere = [s for s in own if any(first in ids for ids in s.consumed.values())]
        if elsewhere and not any(numbers & s.consumed.keys() for s in own):
            return losses[first], numbers
    return None


def _loss(backward: Backward) -> tuple[object, object]:
    return backward.site, backward.made
