"""When to record: until every loss and every optimizer has been seen, then only for those that are new."""

from __future__ import annotations

from typing import Any

MOST_CALLS = 300_000
"""Operations after which recording ends although no gradient was asked for."""
MOST_IDLE = 60
"""Calls of functions outside any tape after which recording ends while no loss is known: they may have been traced
before the watching began, and what they train does not pass by here. A loss that comes later opens another window."""
MOST_WINDOWS = 6


class Window:
    """Counts what has been seen, by where the user asks for it."""

    def __init__(self, updates: int, policy: str) -> None:
        self.updates = updates
        self.policy = policy
        self._losses: dict[object, int] = {}
        self._steps: dict[int, int] = {}
        self._opened = 1
        self._idle = 0

    def called(self) -> None:
        """A function ran, and no tape was open."""
        self._idle += 1

    def backward(self, place: object, *, symbolic: bool) -> None:
        """One traced graph shows all that its function will ever do."""
        self._losses[place] = self.updates if symbolic else self._losses.get(place, 0) + 1

    def step(self, optimizer: int, *, symbolic: bool) -> None:
        self._steps[optimizer] = self.updates if symbolic else self._steps.get(optimizer, 0) + 1

    def unseen(self, place: object) -> bool:
        """A loss that came by while nothing was recorded, and that nobody has looked at yet."""
        return self._new(place, self._losses)

    def newcomer(self, optimizer: int) -> bool:
        """The same of an optimizer: another agent may train by the same lines."""
        return self._new(optimizer, self._steps)

    def _new(self, key: Any, seen: dict[Any, int]) -> bool:
        if key in seen or self.policy != "auto" or self._opened >= MOST_WINDOWS:
            return False
        seen[key] = 0
        self._opened += 1
        return True

    def enough(self, calls: int) -> bool:
        if self.policy == "always":
            return False
        if calls > MOST_CALLS or (self._idle > MOST_IDLE and not self._losses):
            return True
        seen = [*self._losses.values(), *self._steps.values()]
        return bool(self._losses and self._steps) and min(seen) >= self.updates
