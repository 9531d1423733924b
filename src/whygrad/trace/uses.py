"""Which steps used which backward, and who came next: the ledger by number and by time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from whygrad.trace.ledger import Backward, Clear, Step
from whygrad.trace.trace import Trace, worked_out_once

Loss = tuple[object, object, object]
"""A call of backward and the expression that made its value."""


class _Ordered(Protocol):
    order: int


T = TypeVar("T", bound=_Ordered)


class Line(Generic[T]):
    """Events of one kind in the order in which they happened."""

    def __init__(self, events: list[T]) -> None:
        self.events = sorted(events, key=lambda event: event.order)
        self._orders = [event.order for event in self.events]

    def after(self, order: int) -> T | None:
        """The next one."""
        index = bisect_right(self._orders, order)
        return self.events[index] if index < len(self.events) else None

    def before(self, order: int) -> T | None:
        """The one before."""
        index = bisect_left(self._orders, order)
        return self.events[index - 1] if index else None

    def between(self, start: int, end: float) -> Iterator[T]:
        """Those after the one and before the other."""
        for index in range(bisect_right(self._orders, start), bisect_left(self._orders, end)):
            yield self.events[index]


def steps_using(trace: Trace, *backwards: int) -> list[Step]:
    """Steps that consumed what any of these backwards deposited, in order."""
    users = _users(trace)
    return [trace.steps[index] for index in sorted({i for number in backwards for i in users.get(number, ())})]


def clears_of(trace: Trace, *backwards: int) -> list[Clear]:
    """Clearings that threw away what any of these backwards had deposited, in order."""
    clearings = _clearings(trace)
    return [trace.clears[index] for index in sorted({i for number in backwards for i in clearings.get(number, ())})]


@worked_out_once
def _users(trace: Trace) -> dict[int, list[int]]:
    return _by_backward([step.consumed for step in trace.steps])


@worked_out_once
def _clearings(trace: Trace) -> dict[int, list[int]]:
    return _by_backward([clear.discarded for clear in trace.clears])


def _by_backward(events: list[dict[int, tuple[int, ...]]]) -> dict[int, list[int]]:
    """Which of the events took something of each backward."""
    out: dict[int, list[int]] = {}
    for index, taken in enumerate(events):
        for number in {number for ids in taken.values() for number in ids}:
            out.setdefault(number, []).append(index)
    return out


def loss_of(backward: Backward) -> Loss:
    return backward.site, backward.library, backward.made


def alike(trace: Trace, backward: Backward) -> list[Backward]:
    """All backwards of the same loss, this one among them."""
    return _losses(trace).get(loss_of(backward), [])


@worked_out_once
def _losses(trace: Trace) -> dict[Loss, list[Backward]]:
    out: dict[Loss, list[Backward]] = {}
    for backward in trace.backwards:
        out.setdefault(loss_of(backward), []).append(backward)
    return out


@worked_out_once
def backwards_by_site(trace: Trace) -> dict[object, Line[Backward]]:
    out: dict[object, list[Backward]] = {}
    for backward in trace.backwards:
        out.setdefault(backward.site, []).append(backward)
    return {site: Line(found) for site, found in out.items()}


@worked_out_once
def steps_by_optimizer(trace: Trace) -> dict[int, Line[Step]]:
    out: dict[int, list[Step]] = {}
    for step in trace.steps:
        out.setdefault(step.optimizer, []).append(step)
    return {number: Line(found) for number, found in out.items()}


@worked_out_once
def steps_in_order(trace: Trace) -> Line[Step]:
    return Line(trace.steps)


@worked_out_once
def backwards_in_order(trace: Trace) -> Line[Backward]:
    return Line(trace.backwards)


@worked_out_once
def clears_in_order(trace: Trace) -> Line[Clear]:
    return Line(trace.clears)
