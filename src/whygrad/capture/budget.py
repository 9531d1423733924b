"""How much time the telemetry may take, and what it has taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from whygrad import timing

SHARE = 0.02
EVERY = 1.0
"""A share from which on every update is sampled."""
MEASURED = 0.1
"""Part of the share that samples may use by the clock. The rest is for what a clock inside does not see: caches and
allocators that the script finds as we left them, and the hooks themselves, which are 1.2 % of a small DQN's update. Of
its instructions (torch 2.13, under valgrind, whose clock flatters them) samples took 2.1 % while they measured 1 %."""
LEAST_GAP = 0.25
"""Seconds between two samples of an optimizer once it is running."""
EARLY = 4
"""Samples that may come closer together, as far as the share allows: the start of a run is the interesting part."""
EARLY_GAP = 0.02
LONGEST_SKIP = 512
"""Updates between two looks at the clock."""


@dataclass(slots=True)
class Turn:
    """One optimizer's place in the queue."""

    at: float = 0.0
    """When its next sample may begin."""
    samples: int = 0
    cost: float = 0.0
    """Seconds spent since its last sample ended."""
    steps: int = 0
    looked: float = 0.0


class Budget:
    """Each sample is paid for by the time that passes after it, so that there is never a burst."""

    def __init__(self, share: float = SHARE, clock: Callable[[], float] = timing.perf_counter) -> None:
        self.share = share
        self.clock = clock
        self.begun = clock()
        self.spent = 0.0

    @property
    def elapsed(self) -> float:
        return self.clock() - self.begun

    @contextmanager
    def spending(self, turn: Turn) -> Iterator[None]:
        """Charge what happens inside to an optimizer."""
        start = self.clock()
        try:
            yield
        finally:
            self.charge(turn, self.clock() - start)

    def charge(self, turn: Turn, seconds: float) -> None:
        turn.cost += seconds
        self.spent += seconds

    def settle(self, turn: Turn, sharers: int) -> None:
        """A sample is complete: wait until its cost is no more than the optimizer's part of the share."""
        turn.samples += 1
        gap = LEAST_GAP if turn.samples >= EARLY else EARLY_GAP
        # What was taken ahead of its time is paid for after what was owed already.
        turn.at = max(self.clock(), turn.at) + max(self._earned(turn.cost, sharers), gap)
        turn.cost = 0.0

    def late(self, turn: Turn, seconds: float, sharers: int) -> None:
        """Time on a device, known only after the sample was settled."""
        self.spent += seconds
        turn.at += self._earned(seconds, sharers)

    def _earned(self, cost: float, sharers: int) -> float:
        """The time that must pass for this cost."""
        return cost * max(sharers, 1) / (self.share * MEASURED)

    def due(self, turn: Turn) -> bool:
        return self.share >= EVERY or self.clock() >= turn.at

    def skip(self, turn: Turn, steps: int) -> int:
        """Updates to let pass before the clock is looked at again: the wait at the present pace.

        Rather late than early: a look costs 50 µs in cold memory (torch 2.13), a sample 1.1 ms.
        """
        now, passed = self.clock(), steps - turn.steps
        pace = passed / (now - turn.looked) if turn.looked and now > turn.looked else 0.0
        turn.steps, turn.looked = steps, now
        return min(max(int(pace * (turn.at - now)), 0) + 1, LONGEST_SKIP)
