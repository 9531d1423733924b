"""Single keys from a terminal, without waiting for Enter."""

from __future__ import annotations

import os
import select
import sys
import time
from types import TracebackType
from typing import Any

try:
    import termios
    import tty
except ImportError:  # Windows.
    termios = None  # type: ignore[assignment]


class Keys:
    """Puts the terminal back as it was; where there is none, nobody presses anything."""

    def __init__(self) -> None:
        self._before: Any = None

    def __enter__(self) -> Keys:
        if termios is not None and sys.stdin is not None and sys.stdin.isatty():
            self._before = termios.tcgetattr(sys.stdin.fileno())
            tty.setcbreak(sys.stdin.fileno())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._before is not None:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)

    def pressed(self, key: str, seconds: float) -> bool:
        """Wait this long for a key; whether it was this one."""
        return key in self._typed(seconds)

    def read(self, seconds: float) -> str:
        """Wait this long for a key; the last that was pressed, empty when none was."""
        return self._typed(seconds)[-1:]

    def _typed(self, seconds: float) -> str:
        if self._before is None:
            time.sleep(seconds)
            return ""
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return os.read(sys.stdin.fileno(), 64).decode(errors="replace").lower() if ready else ""
