"""The end of a run: the report is made whatever arrives meanwhile, and the process ends as the script would have.

Ctrl-C hurries the report, a second one ends the process at once. Anything else that is raised in this thread while we
work belongs to the script, is kept, and is shown afterwards.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn, TypeVar

from whygrad.capture.blame import our_own
from whygrad.cli import last_words
from whygrad.trace.deadline import Deadline

T = TypeVar("T")
MOST = 50
"""Times that a piece of work is begun again."""


class Ending:
    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.interrupted = False
        self.late: list[BaseException] = []
        """What other threads or handlers of the script raised while the report was made."""
        self._before: object = None
        self._process = os.getpid()

    def begin(self) -> None:
        """The script is over; from here on Ctrl-C is for us."""
        if self._before is not None or os.getpid() != self._process:
            return
        try:
            self._before = signal.getsignal(signal.SIGINT)
            if self._before is not signal.SIG_IGN:
                signal.signal(signal.SIGINT, self._hurry)
        except ValueError:  # Not the main thread: then Ctrl-C does not arrive here.
            self._before = signal.SIG_IGN

    def _hurry(self, _: int, __: FrameType | None) -> None:
        if self.interrupted:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        self.interrupted = True
        self.deadline.expire()

    def insist(self, work: Callable[[], T]) -> T:
        """Do it to its end; what lands in the middle is kept for later, and the work begun again."""
        for _ in range(MOST):
            try:
                return work()
            except BaseException as error:
                if our_own(error):
                    raise
                self.keep(error)
        self.late.clear()  # What comes every time comes from the work itself.
        return work()

    def keep(self, error: BaseException) -> None:
        """What the script is to hear of when everything is done."""
        if isinstance(error, KeyboardInterrupt):
            self.interrupted = True
            self.deadline.expire()
        else:
            self.late.append(error)

    def leave(self, status: int, escaped: BaseException | None) -> int:
        """The status of the process; does not return where it is to die by a signal."""
        for error in self.late:
            status = last_words.say(error)
        if self.interrupted or isinstance(escaped, KeyboardInterrupt):
            _die_interrupted()
        return status


def _die_interrupted() -> NoReturn:
    """As Python does it: by the signal, after everything else; the traceback has been shown."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.excepthook = lambda *_: None
    raise KeyboardInterrupt
