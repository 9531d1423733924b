"""How long a report may take: whoever waits sets an end, and every long walk looks at the clock now and then."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from whygrad import timing

OFTEN = 4096
"""Operations between two looks at the clock inside one walk."""


class TimeUpError(Exception):
    """The time is over; what has been worked out until now stands."""


class Deadline:
    """An end that can be moved forward: by Ctrl-C, say."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self._end = math.inf

    def begin(self) -> None:
        """The clock runs from the first time on that this is called."""
        if self._end == math.inf:
            self._end = timing.monotonic() + self.seconds

    def expire(self) -> None:
        self._end = -math.inf

    @property
    def over(self) -> bool:
        return timing.monotonic() >= self._end


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def within(deadline: Deadline) -> Iterator[None]:
    """Analyses in here raise `TimeUpError` once the time is over."""
    deadline.begin()
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def check() -> None:
    """Called by whatever may take long."""
    deadline = _deadline.get()
    if deadline is not None and deadline.over:
        raise TimeUpError("the time for the report is over")
