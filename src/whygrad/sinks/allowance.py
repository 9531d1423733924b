"""Time that may be spent beside a training: a share of what passes, and a little in advance."""

from __future__ import annotations

from collections.abc import Callable

from whygrad import timing

ADVANCE = 0.25
"""Seconds that may be spent before they are earned: whoever opens the page should not wait for it."""


class Allowance:
    def __init__(self, share: float, clock: Callable[[], float] = timing.perf_counter) -> None:
        self.share = share
        self._clock = clock
        self._begun = clock()
        self.spent = 0.0

    @property
    def elapsed(self) -> float:
        return self._clock() - self._begun

    def spend(self, seconds: float) -> None:
        self.spent += seconds

    def affords(self, seconds: float, *, ahead: bool) -> bool:
        return self.spent + seconds <= self.share * self.elapsed + (ADVANCE if ahead else 0.0)

    def wait(self) -> float:
        """Seconds until what was spent is earned; 0 where it is already."""
        owed = self.spent - self.share * self.elapsed - ADVANCE
        return max(owed, 0.0) / self.share if self.share > 0 else 0.0
