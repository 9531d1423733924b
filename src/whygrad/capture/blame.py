"""Whose exception it is that ends our work: ours, or one that only happened to land there.

Signal handlers run between any two instructions, and other threads can raise in this one. Both belong to the script.
"""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

from whygrad.about import HOME
from whygrad.capture import frames

SILENT = (AssertionError, MemoryError, StopIteration, StopAsyncIteration)
"""What Python itself raises without a word."""
SERVANTS = frozenset({"rich", "numpy", "tensorboard", "wandb", "pyarrow", "matplotlib", "pygments", "google", "keras"})
"""Packages that work for us."""
_CALLED = frozenset({frames.OWN, frames.FRAMEWORK, frames.STDLIB})


def our_own(error: BaseException) -> bool:
    """Whether our code raised it, or what our code called: we never call the script's.

    An exception that another thread raises in this one has no frame of its own. It is a class made without arguments,
    and mostly one that we could not raise at all.
    """
    if not isinstance(error, Exception) or not _raised_by_us(error.__traceback__):
        return False
    if not error.args and error.__cause__ is None and not isinstance(error, SILENT):
        return False
    return _ours(type(error).__module__)


def _raised_by_us(traceback: TracebackType | None) -> bool:
    """Whether, inside our innermost frame, there is nobody but whom we call."""
    ours = True
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code.co_filename.startswith(HOME):
            ours = True
        elif not _served(frame):
            ours = False
        traceback = traceback.tb_next
    return ours


def _served(frame: FrameType) -> bool:
    kind = frames.kind_of_code(frame.f_code)
    # Methods that Python writes for our dataclasses have no file.
    return kind in _CALLED or _ours(str(frame.f_globals.get("__name__", "")))


def _ours(module: str) -> bool:
    """Whether a module is part of us, or works for us."""
    package = module.partition(".")[0]
    if package in SERVANTS or package in ("whygrad", "builtins"):
        return True
    file = getattr(sys.modules.get(package), "__file__", None)
    return isinstance(file, str) and frames.kind_of(file) in _CALLED
