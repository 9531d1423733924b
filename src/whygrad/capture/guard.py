"""whygrad never breaks a run: what goes wrong in here is said once, and the part that failed steps aside."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TypeVar

from whygrad import visible
from whygrad.capture.blame import our_own
from whygrad.trace.gap import ATTACH, Gap

T = TypeVar("T")

LONGEST_WAIT = 2.0
"""Seconds for which a thread waits while another one works here; then it goes on without. Our work may wait for that
very thread: a logger that it starts, say."""
ASIDE = {
    "telemetry": "",
    "names": "names of networks are those of the lines that made them",
    "values": "what depends on the values of an operation was not looked at everywhere",
    "weights": "whether weights move and are finite was not looked at to the end",
    "kept tensors": "whether graphs are kept from update to update was not looked at to the end",
    "modes": "whether modules are in training mode was not looked at to the end",
    "hooks": "whether a hook swallows gradients was not looked at to the end",
    "assignments": "whether parameters are replaced was not looked at to the end",
    "explanations": "the exception could not be explained",
}
"""Parts that may fail alone, with what is missing then: what they leave out never makes the others speak. Of the rest
each is needed by all, and its failure ends the watching."""


class Guard:
    """Runs whygrad's own work between the user's; an error of ours stops the watching, not the script.

    What is not ours passes through: a signal handler of the script's may raise at any moment, also while we work.
    """

    def __init__(self) -> None:
        self.alone = threading.RLock()
        """Held while we work: the script's threads may train at the same time, and our books are kept by one."""
        self.broken: str | None = None
        self._failed: dict[str, str] = {}
        """Parts that stepped aside or failed now and then, with the error."""
        self._tracebacks: dict[str, str] = {}
        self._off: set[str] = set()
        self.on_break: Callable[[], None] = lambda: None
        self.on_interrupted: Callable[[], None] = lambda: None
        """Something of the script's passed through while we worked."""

    def __call__(self, work: Callable[[], T], part: str) -> T | None:
        if self.broken is not None or part in self._off:
            return None
        taken = self.alone.acquire(timeout=LONGEST_WAIT)
        try:
            return self.unlocked(work, part)
        finally:
            if taken:
                self.alone.release()

    def unlocked(self, work: Callable[[], T], part: str) -> T | None:
        """For what must not wait for another thread."""
        if self.broken is not None or part in self._off:
            return None
        try:
            return work()
        except BaseException as error:
            if not isinstance(error, Exception) or not our_own(error):
                self.on_interrupted()
                raise
            self.fail(error, part)
            return None

    def final(self, work: Callable[[], T], part: str) -> T | None:
        """What is done at the end, broken or not."""
        try:
            return work()
        except Exception as error:
            if not our_own(error):
                raise
            self.fail(error, part)
            return None

    def gaps(self) -> list[Gap]:
        """What could not be watched because of failures."""
        out = []
        for part, error in self._failed.items():
            missing = ASIDE.get(part, "watching stopped early")
            if missing:
                out.append(Gap(f"{missing}, after an internal error ({error})", ATTACH, self._tracebacks[part]))
        return out

    def limits(self) -> list[str]:
        return [f"{part} ended early ({error})" for part, error in self._failed.items() if ASIDE.get(part) == ""]

    def forked(self) -> None:
        """In a child process nobody will let go of what another thread held."""
        self.alone = threading.RLock()

    def tolerate(self, error: Exception, part: str) -> None:
        """Something that may go well the next time."""
        if part not in self._failed:
            self._tracebacks[part] = "".join(traceback.format_exception(error))
            self._failed[part] = f"{part}: {type(error).__name__}: {error}"
            if os.environ.get("WHYGRAD_DEBUG"):
                _say(self._tracebacks[part])

    def fail(self, error: Exception, part: str) -> None:
        if self.broken is not None:
            return
        self.tolerate(error, part)
        if part in ASIDE:
            self._off.add(part)
            _say(f"whygrad: internal error, {part} left out from here on; your script goes on ({self._failed[part]})")
            return
        self.broken = self._failed[part]
        _say(f"whygrad: internal error, watching stopped; your script goes on ({self.broken})")
        try:
            self.on_break()
        except Exception as second:
            if not our_own(second):
                raise
            _say(f"whygrad: could not detach cleanly ({second})")


def _say(line: str) -> None:
    """As far as the script's own stderr allows."""
    try:
        print(visible.line(line), file=sys.stderr, flush=True)
    except Exception as error:
        if not our_own(error):
            raise
