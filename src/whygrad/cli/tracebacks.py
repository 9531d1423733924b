"""Tracebacks as the user knows them: without the frames that whygrad put in between."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from whygrad.about import HOME

_AROUND = ("<frozen runpy>",)


def show(error: BaseException, *, full: bool) -> None:
    """Print the exception through the hook in force, as the interpreter would."""
    shown = error.__traceback__ if full else trimmed(error.__traceback__)
    original = error.__traceback__
    error.__traceback__ = shown
    try:
        sys.excepthook(type(error), error, shown)
    finally:
        error.__traceback__ = original
    sys.stderr.flush()


def trimmed(traceback: TracebackType | None) -> TracebackType | None:
    """The same traceback without whygrad's frames and without what it started the script with."""
    kept: list[TracebackType] = []
    while traceback is not None:
        file = os.path.abspath(traceback.tb_frame.f_code.co_filename)
        if not file.startswith(HOME) and traceback.tb_frame.f_code.co_filename not in _AROUND:
            kept.append(traceback)
        traceback = traceback.tb_next
    out: TracebackType | None = None
    for entry in reversed(kept):
        out = TracebackType(out, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return out
