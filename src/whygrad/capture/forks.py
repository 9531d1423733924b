"""Processes that the script starts: they are not watched, but whether they train should not go unsaid.

A forked one shares a page of memory with us and leaves its number there when it first differentiates a loss or steps an
optimizer. Of any other only the processor time is known, and that once it has ended; of those that a fork server starts
not even that.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys

from whygrad.trace.children import Children

MOST = 1024
"""Children that are counted one by one."""
_NUMBER = struct.Struct("<I")


class Forks:
    """Made before the script begins."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, MOST * _NUMBER.size)
        self._before = _seconds()

    def mark(self) -> None:
        """In a forked process: it has trained."""
        process = _NUMBER.pack(os.getpid() & 0xFFFFFFFF)
        for place in range(0, len(self._page), _NUMBER.size):
            if self._page[place : place + _NUMBER.size] in (bytes(_NUMBER.size), process):
                self._page[place : place + _NUMBER.size] = process
                return

    def found(self) -> Children:
        trained = sum(number != 0 for (number,) in _NUMBER.iter_unpack(self._page[:]))
        return Children(trained, _seconds() - self._before, _running(), _served())


def _seconds() -> float:
    """Processor time of all children that this process has waited for."""
    found = os.times()
    return found.children_user + found.children_system


def _served() -> bool:
    module = sys.modules.get("multiprocessing.forkserver")
    return getattr(getattr(module, "_forkserver", None), "_forkserver_pid", None) is not None


def _running() -> int:
    """Workers of `multiprocessing` that nobody has waited for. Its own question would do the waiting."""
    module = sys.modules.get("multiprocessing.process")
    return len(getattr(module, "_children", ()))
