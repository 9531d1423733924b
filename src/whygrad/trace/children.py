"""What is known about the processes that the watched one has started."""

from __future__ import annotations

from dataclasses import dataclass

BUSY = 0.5
"""Seconds of processor time in which a process can have trained, where nobody else has."""
LONG = 10.0
"""Beside a process that trains itself, children mostly run environments; starting some takes a second each."""


@dataclass(frozen=True, slots=True)
class Children:
    trained: int = 0
    """Forked from the watched process and seen to step an optimizer."""
    seconds: float = 0.0
    """Processor time of those that have ended, whatever they did."""
    running: int = 0
    """Still at work at the end."""
    served: bool = False
    """A fork server started some: those are its children, and nothing is known of them."""

    @property
    def busy(self) -> bool:
        """They may well have been training."""
        return self.seconds >= BUSY or bool(self.running) or self.served

    @property
    def unknown(self) -> bool:
        """Somebody worked for long, and it is not known at what."""
        return self.seconds >= LONG and not self.trained
