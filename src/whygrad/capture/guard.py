"""whygrad never breaks a run: what goes wrong in here is said once, and watching ends."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LONGEST_WAIT = 2.0
"""Seconds for which a thread waits while another one works here; then it goes on without. Our work may wait for that
very thread: a logger that it starts, say."""


class Guard:
    """Runs whygrad's own work between the user's; an exception stops the watching, not the script."""

    def __init__(self) -> None:
        self.alone = threading.RLock()
        """Held while we work: the script's threads may train at the same time, and our books are kept by one."""
        self.broken: str | None = None
        self.on_break: Callable[[], None] = lambda: None

    def __call__(self, work: Callable[[], T], where: str) -> T | None:
        if self.broken is not None:
            return None
        taken = self.alone.acquire(timeout=LONGEST_WAIT)
        try:
            return work()
        except Exception as error:  # Anything at all: the script must go on.
            self.fail(error, where)
            return None
        finally:
            if taken:
                self.alone.release()

    def forked(self) -> None:
        """In a child process nobody will let go of what another thread held."""
        self.alone = threading.RLock()

    def fail(self, error: Exception, where: str) -> None:
        if self.broken is not None:
            return
        self.broken = f"{where}: {type(error).__name__}: {error}"
        print(
            f"whygrad: internal error, watching stopped; your script goes on ({self.broken})",
            file=sys.stderr,
            flush=True,
        )
        if os.environ.get("WHYGRAD_DEBUG"):
            traceback.print_exc()
        try:
            self.on_break()
        except Exception as second:
            print(f"whygrad: could not detach cleanly ({second})", file=sys.stderr, flush=True)
