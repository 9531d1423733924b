"""One counter for everything that happens, so that events can be put in order."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
MOST_EVENTS = 4000


class Clock:
    """Moves on with every event of the update protocol."""

    def __init__(self) -> None:
        self.now = 0

    def tick(self) -> int:
        self.now += 1
        return self.now


def remember(events: list[T], event: T) -> None:
    """Keep the latest events of a kind, so that a run traced to its end stays within memory."""
    events.append(event)
    if len(events) > MOST_EVENTS:
        del events[: MOST_EVENTS // 2]
