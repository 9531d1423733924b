"""How long recording is suspended: inside a backward, a step, a call of torch's whose parts are its own affair."""

from __future__ import annotations

import threading


class Pause(threading.local):
    """Each thread's own. An exception may land between any two instructions: no count goes below zero."""

    depth = 0
    """How many times over recording is suspended."""
    aside = 0
    """Calls that pass through the mode at this moment: torch takes it off the stack meanwhile, and puts it back."""

    def begin(self) -> None:
        self.depth += 1

    def end(self) -> None:
        self.depth = max(0, self.depth - 1)

    def __enter__(self) -> None:
        self.begin()

    def __exit__(self, *_: object) -> None:
        self.end()
