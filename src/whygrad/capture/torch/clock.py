"""One counter for everything that happens, so that events can be put in order."""

from __future__ import annotations


class Clock:
    """Moves on with every event of the update protocol."""

    def __init__(self) -> None:
        self.now = 0

    def tick(self) -> int:
        self.now += 1
        return self.now
