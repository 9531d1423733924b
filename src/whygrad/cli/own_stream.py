"""A way to stderr or stdout that the script can neither close nor redirect, and that never leads into its own files.

A descriptor is only a number: a script may close them all, and its next file may get ours. So before every word the
number must still stand for what it stood for.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO

FIRST = 700
"""Numbers from here on are tried: the script's own files get the low ones, as without us."""


def own(stream: TextIO | None) -> TextIO | OwnStream:
    """The process's own streams in a safe form; what somebody put in their place as it is."""
    if stream is None:
        return io.StringIO()
    ours = any(stream is standard for standard in (sys.__stderr__, sys.__stdout__))
    return OwnStream(stream) if ours else stream


class OwnStream:
    """As much of a text stream as is needed for speaking."""

    encoding = "utf-8"

    def __init__(self, stream: TextIO) -> None:
        self._numbers: list[int] = []
        self._what: tuple[int, ...] | None = None
        with contextlib.suppress(OSError, ValueError, AttributeError):
            theirs = stream.fileno()
            self.encoding = stream.encoding or "utf-8"
            self._what = _what(theirs)
            self._numbers = [_duplicate(theirs), theirs]

    def write(self, text: str) -> None:
        """To the terminal, file or pipe that it was at the start."""
        number = self.fileno()
        data = memoryview(text.encode(self.encoding, "backslashreplace"))
        while data:
            data = data[os.write(number, data) :]

    def flush(self) -> None:
        """Nothing is held back."""

    def fileno(self) -> int:
        for number in self._numbers:
            with contextlib.suppress(OSError):
                if _what(number) == self._what:
                    return number
        raise OSError(9, "it is closed")

    def isatty(self) -> bool:
        try:
            return os.isatty(self.fileno())
        except OSError:
            return False


def _duplicate(number: int) -> int:
    try:
        import fcntl
    except ImportError:  # Windows has no way to ask for a high number.
        return os.dup(number)
    try:
        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, FIRST)
    except OSError:  # Fewer are allowed.
        return os.dup(number)


def _what(number: int) -> tuple[int, ...]:
    """What a descriptor stands for."""
    found = os.fstat(number)
    return found.st_dev, found.st_ino, found.st_mode, found.st_rdev
