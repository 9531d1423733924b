"""A command in a real terminal, for the tests that press keys."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

from cli_running import LONGEST, environment


class Terminal:
    """A command in a pseudo-terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 110, 0, 0))
        command = [sys.executable, "-m", "whygrad", *arguments]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,  # Ctrl-C comes from the terminal.
        )
        os.close(theirs)
        self.seen = ""

    def until(self, *words: str) -> None:
        """Read on until all the words have been on the screen."""
        deadline = time.monotonic() + LONGEST
        while not all(word in self.seen for word in words):
            assert time.monotonic() < deadline, f"{words} not in {self.seen[-2000:]!r}"
            if not self._read(0.5) and self.process.poll() is not None and not self._read(0.0):
                assert all(word in self.seen for word in words), self.seen[-2000:]

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.ours], [], [], seconds)
        data = b""
        if ready:
            with contextlib.suppress(OSError):  # The other end has closed.
                data = os.read(self.ours, 65536)
        self.seen += data.decode(errors="replace")
        return bool(data)

    def press(self, keys: bytes) -> None:
        os.write(self.ours, keys)

    def ended(self) -> int:
        """Its status; its last words are read on the way."""
        deadline = time.monotonic() + LONGEST
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"still running: {self.seen[-2000:]!r}"
            self._read(0.2)
        while self._read(0.1):
            pass
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.ours)


def within(seconds: float, happened: Callable[[], bool]) -> bool:
    """Whether it happens in this time."""
    deadline = time.monotonic() + seconds
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.05)
    return happened()


def alive(pid: int) -> bool:
    """A zombie, which nobody has waited for, is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
