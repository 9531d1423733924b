"""What the watching is to do, whatever the framework."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whygrad import timing
from whygrad.capture.budget import SHARE
from whygrad.telemetry.record import Record


@dataclass(frozen=True)
class Options:
    updates: int = 5
    trace: str = "auto"
    budget: float = SHARE
    """Share of the time that telemetry may take; 0 is none, 1 samples every update."""
    emit: Callable[[Record], None] = lambda _: None
    wanted: bool = False
    """Somebody asked for telemetry, so that it may cost what its budget allows also where that changes a graph."""
    clock: Callable[[], float] = timing.perf_counter
    """What the budget is measured by."""
