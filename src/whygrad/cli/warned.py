"""torch's warnings name the line that called torch: while we stand in between, that must stay the user's."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from whygrad.about import HOME


def relocate() -> None:
    """Move warnings that would point into whygrad to the frame that called it, for the whole run."""
    original = warnings.showwarning

    def showwarning(
        message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: str | None = None
    ) -> None:
        if filename.startswith(HOME):
            frame = sys._getframe(1)
            while frame.f_back is not None and _between(frame.f_code.co_filename):
                frame = frame.f_back
            filename, lineno = frame.f_code.co_filename, frame.f_lineno
        original(message, category, filename, lineno, file, line)

    warnings.showwarning = showwarning


def _between(file: str) -> bool:
    return file.startswith(HOME) or file == warnings.__file__
