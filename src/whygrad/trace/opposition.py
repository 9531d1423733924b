"""Games: one player's loss is the other's with the sign turned, and a step gets both."""

from __future__ import annotations

from collections.abc import Iterator

from whygrad.trace.graph import Graph
from whygrad.trace.ledger import Backward, Step
from whygrad.trace.losses import latest
from whygrad.trace.signs import signed
from whygrad.trace.trace import Trace, worked_out_once
from whygrad.trace.uses import steps_using


def opposed(trace: Trace) -> Iterator[tuple[Backward, frozenset[int]]]:
    """What a player's loss left on the other player, whose own loss came after that player's step and cancels it."""
    for one, other in _negated(trace):
        losses = {b.id: b for b in (*_of_loss(trace, one), *_of_loss(trace, other))}
        for step in reversed(steps_using(trace, *(b.id for b in _of_loss(trace, one)))):
            found = _both(trace, step, one, other, losses)
            if found is not None:
                yield found
                break


def _negated(trace: Trace) -> list[tuple[Backward, Backward]]:
    """Pairs of losses that the same cost, one number by the same expression, enters with opposite signs."""
    found = latest(trace)
    entering: dict[tuple[object, int], list[int]] = {}
    pairs: set[tuple[int, int]] = set()
    for later, backward in enumerate(found):
        costs = list(_costs(trace.graph, backward))
        for place, sign in costs:
            turned = entering.get((place, -sign), ())
            pairs.update((n, later) for n in turned if _loss(found[n]) != _loss(backward))
        for entry in dict(costs).items():
            entering.setdefault(entry, []).append(later)
    return [(found[one], found[other]) for one, other in sorted(pairs)]


def _costs(graph: Graph, backward: Backward) -> Iterator[tuple[object, int]]:
    for op, sign in signed(graph, backward.root or 0):
        if op.site is not None and not op.shape and not op.layer:
            yield (op.site, op.name), sign


def _both(
    trace: Trace, step: Step, one: Backward, other: Backward, losses: dict[int, Backward]
) -> tuple[Backward, frozenset[int]] | None:
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


@worked_out_once
def _by_loss(trace: Trace) -> dict[object, list[Backward]]:
    out: dict[object, list[Backward]] = {}
    for backward in trace.backwards:
        out.setdefault(_loss(backward), []).append(backward)
    return out


def _of_loss(trace: Trace, backward: Backward) -> list[Backward]:
    return _by_loss(trace)[_loss(backward)]


def _loss(backward: Backward) -> tuple[object, object]:
    return backward.site, backward.made
