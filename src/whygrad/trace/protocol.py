"""The order of an update: steps that find nothing, and gradients that are cleared before any step."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from whygrad.trace.abandoning import abandoned
from whygrad.trace.ledger import Backward, Clear, Optimizer, Step
from whygrad.trace.spells import Spell, between, spell
from whygrad.trace.trace import Trace, worked_out_once
from whygrad.trace.uses import clears_in_order, steps_by_optimizer

OFTEN = 2
MOSTLY = 4
"""Backwards that must have been thrown away, nearly all in their part of the run, where it is not so all the time."""


@dataclass(slots=True)
class Starved:
    """Parameters on which all traced steps of their optimizer found no gradient although backwards deposit some."""

    optimizer: Optimizer
    parameters: set[int]
    step: Step
    steps: int
    backwards: list[Backward]
    clear: Clear | None
    """What took the gradient away, when one was there before the first step."""
    when: Spell | None = None
    """The part of the run in which it was so, unless that is all of it."""


@dataclass(slots=True)
class Discarded:
    """A loss some of whose gradients are cleared before the step that uses the others."""

    backward: Backward
    clear: Clear
    step: Step
    optimizer: Optimizer
    parameters: set[int]
    lost: int
    used: int
    when: Spell


@worked_out_once
def starved(trace: Trace) -> list[Starved]:
    out: list[Starved] = []
    stepped: dict[int, list[Step]] = {}
    for step in trace.steps:
        stepped.setdefault(step.optimizer, []).append(step)
    for optimizer in trace.optimizers:
        steps = stepped.get(optimizer.id, [])
        if len(steps) < OFTEN:
            continue
        if any(_fed(s) for s in steps):
            out.extend(_part(trace, optimizer, steps) or _phase(trace, optimizer, steps))
            continue
        held = set(optimizer.parameters)
        backwards = [b for b in trace.backwards if b.deposits & held or _taken(trace, b, held)]
        if all(b.how == "grad" for b in backwards) and _cut_off(trace, held):
            continue
        if not backwards and not all(s.closure for s in steps):
            continue  # No loss reaches it at all: that is a cut, or an unused network.
        clear = _took(trace, held, steps, backwards) if backwards else None
        zeroed = all(not s.consumed for s in steps) or clear is not None
        if zeroed:
            out.append(Starved(optimizer, held, steps[-1], len(steps), backwards, clear))
    return out


def _part(trace: Trace, optimizer: Optimizer, steps: list[Step]) -> list[Starved]:
    """Some parameters of an optimizer: their loss comes first, and whoever clears for the next one takes it away."""
    fed, wasted = _fed_at_all(trace), _wasted(trace)  # What trains others leaves traces here by the way.
    held = set(optimizer.parameters) if wasted else set[int]()
    part = {n for b in wasted for n in b.deposits if n in held and n not in fed}
    part = {n for n in part if not trace.parameter(n).consumed}
    backwards = [b for b in wasted if b.deposits & part]
    clear = _took(trace, part, steps, backwards) if part else None
    return [Starved(optimizer, part, steps[-1], len(steps), backwards, clear)] if clear is not None else []


def _phase(trace: Trace, optimizer: Optimizer, steps: list[Step]) -> list[Starved]:
    """An order of calls that holds for a part of the run only: its own line of backward comes after the step there."""
    held = set(optimizer.parameters)
    known = [s for i, s in enumerate(steps) if _known(trace, steps[i - 1] if i else None, s)]
    when = spell([(s.update, not _fed(s)) for s in known], OFTEN, against=len(steps))
    if when is None or any(s.closure for s in steps):
        return []
    run = [s for s in known if when.first <= s.update <= when.last]
    losses = {_loss(b) for b in trace.backwards if b.id in _applied(trace)}
    wasted = [b for b in trace.backwards if b.deposits & held and _loss(b) not in losses and b.how == "backward"]
    wasted = [b for b in wasted if when.first <= b.update + 1 <= when.last + 1]
    cleared = {i for c in trace.clears for n, ids in c.discarded.items() if n in held for i in ids}
    often = sum(b.id in cleared for b in wasted) >= OFTEN
    return [Starved(optimizer, held, run[-1], len(run), wasted, None, when)] if often else []


def _known(trace: Trace, before: Step | None, step: Step) -> bool:
    """Whether tracing has gone on since the step before, so that what this one finds is known to the last."""
    if step.leftover is not None or not step.consumed:
        return True
    return before is not None and trace.window(before.order) == trace.window(step.order)


@worked_out_once
def _applied(trace: Trace) -> frozenset[int]:
    """Backwards that some step used."""
    return frozenset(i for s in trace.steps for ids in s.consumed.values() for i in ids)


@worked_out_once
def _fed_at_all(trace: Trace) -> frozenset[int]:
    """Parameters on which some step found a gradient."""
    return frozenset(n for s in trace.steps for n in (*s.consumed, *s.assigned))


@worked_out_once
def _wasted(trace: Trace) -> list[Backward]:
    """Backwards that no step used."""
    applied = _applied(trace)
    return [b for b in trace.backwards if b.id not in applied]


def _taken(trace: Trace, backward: Backward, held: set[int]) -> bool:
    """`autograd.grad` of a loss that reaches them: it returns the gradients and leaves `.grad` alone."""
    known = backward.how == "grad" and backward.root is not None and backward.root in trace.graph.ops
    return known and bool(trace.graph.reach(backward.root or 0) & held)


def _cut_off(trace: Trace, held: set[int]) -> bool:
    """A loss depends on them and its backward does not reach them: a cut is the cause."""
    roots = [b.root for b in trace.rooted if b.how == "backward" and b.root is not None]
    return any(trace.graph.depends(root) & held for root in roots)


def _fed(step: Step) -> bool:
    return bool(step.assigned) or any(step.consumed.values())


def _took(trace: Trace, held: set[int], steps: list[Step], backwards: list[Backward]) -> Clear | None:
    """The clearing between a backward and the step after it, in an update that began with the backward."""
    if backwards[0].order > steps[0].order:
        return None
    deposits = sorted(b.order for b in backwards)
    for step in reversed(steps):
        before = bisect_left(deposits, step.order)
        if before:
            between = clears_in_order(trace).between(deposits[before - 1], step.order)
            found = next((c for c in between if c.parameters & held), None)
            if found is not None:
                return found
    return None


Loss = tuple[object, object]
"""A call of backward and the expression that made its value."""


@dataclass(slots=True)
class _Used:
    """By loss and parameter: the backwards that a step consumed, and that step."""

    ids: dict[tuple[Loss, int], set[int]]
    step: dict[tuple[Loss, int], Step]


def discarded(trace: Trace) -> list[Discarded]:
    """Losses that are consumed on some parameters at one time and cleared from them, unused, at another."""
    by_id = {b.id: b for b in trace.backwards}
    overflowed = {b.id for b in trace.backwards if b.overflowed}
    by_hand = {n for s in trace.steps for n in s.assigned}
    by_hand |= {n for s in trace.steps if s.closure for n in trace.optimizers[s.optimizer].parameters}
    used, never = _consumed(trace, by_id), {b.id for case in abandoned(trace) for b in case.backwards}
    lost: dict[tuple[object, Loss], dict[int, set[int]]] = {}
    where: dict[tuple[object, Loss], tuple[Clear, Backward]] = {}
    stepped = {i: step.order for step in reversed(trace.steps) for ids in step.consumed.values() for i in ids}
    for clear in trace.clears:
        for number, ids in clear.discarded.items():
            for backward in (by_id[found] for found in ids if found in by_id and number not in by_hand):
                if backward.id in overflowed or backward.id in never:
                    continue  # A gradient scaler leaves such a step out, and what it leaves behind is to be cleared.
                own = used.ids.get((_loss(backward), number))
                seen = _step_follows(trace, number, clear)
                delayed = stepped.get(backward.id, clear.order) < clear.order  # others stepped: this one waits its turn
                if own is not None and backward.id not in own and seen and not delayed:
                    place = (clear.site, _loss(backward))
                    lost.setdefault(place, {}).setdefault(number, set()).add(backward.id)
                    where[place] = clear, backward
    return [case for place, numbers in lost.items() if (case := _case(trace, used, *where[place], numbers))]


def _step_follows(trace: Trace, number: int, clear: Clear) -> bool:
    """Whether the step that used what was deposited after this clearing was traced, too."""
    lines = (steps_by_optimizer(trace).get(o.id) for o in trace.holders.get(number, ()))
    following = (line.after(clear.order) for line in lines if line is not None)
    return any(s is not None and trace.window(s.order) == trace.window(clear.order) for s in following)


def _consumed(trace: Trace, by_id: dict[int, Backward]) -> _Used:
    used = _Used({}, {})
    for step in trace.steps:
        for number, ids in step.consumed.items():
            for backward in (by_id[found] for found in ids if found in by_id):
                used.ids.setdefault((_loss(backward), number), set()).add(backward.id)
                used.step[_loss(backward), number] = step
    return used


def _case(
    trace: Trace, used: _Used, clear: Clear, backward: Backward, numbers: dict[int, set[int]]
) -> Discarded | None:
    loss = _loss(backward)
    lost = set[int]().union(*numbers.values())
    taken = set[int]().union(*(used.ids[loss, n] for n in numbers))
    step = used.step[loss, min(numbers)]
    updates: dict[int, bool] = {}  # An update of several backwards keeps the last of them.
    for found in trace.backwards:
        if found.id in lost | taken:
            updates[found.update + 1] = updates.get(found.update + 1, False) or found.id in lost
    looks = list(updates.items())
    when = spell(looks, MOSTLY, against=2)
    if when is None:
        if len(lost) < OFTEN or 2 * len(lost) < len(taken):
            return None
        part = between(looks)
        assert part is not None
        when = Spell(part.first, part.last, None, None, part.times, part.looks)
    optimizer = trace.optimizers[step.optimizer]
    return Discarded(backward, clear, step, optimizer, set(numbers), len(lost), len(taken), when)


def _loss(backward: Backward) -> Loss:
    return backward.site, backward.made
