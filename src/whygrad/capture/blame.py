"""Whose exception it is that ends our work: ours, or one that only happened to land there.

Signal handlers run between any two instructions, and other threads can raise in this one. Both belong to the script.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Collection
from types import FrameType, TracebackType

from whygrad.about import HOME
from whygrad.capture import frames

SILENT = (AssertionError, MemoryError, StopIteration, StopAsyncIteration)
"""What Python itself raises without a word."""
SERVANTS = frozenset({"rich", "numpy", "tensorboard", "wandb", "pyarrow", "matplotlib", "pygments", "google", "keras"})
"""Packages that work for us."""
_CALLED = frozenset({frames.OWN, frames.FRAMEWORK, frames.STDLIB})
_RAISE = dis.opmap["RAISE_VARARGS"]


DEEP = 200
"""Frames between our first one and the end of the stack, if it is our own recursion that met the limit; with fewer the
script's was about to, and it may be one that the script catches."""
LIBRARIES = "*"
"""As a guest: whatever is installed."""


def our_own(error: BaseException, guests: Collection[str] = ()) -> bool:
    """Whether our code raised it, or what our code called: we never call the script's. Guests are packages that were
    called this time.

    An exception that another thread raises in this one has no frame of its own. It is a class made without arguments,
    and mostly one that we could not raise at all.
    """
    if not isinstance(error, Exception) or not _raised_by_us(error.__traceback__, guests):
        return False
    if isinstance(error, RecursionError) and _frames(error.__traceback__) < DEEP:
        return False
    if not error.args and error.__cause__ is None and not isinstance(error, SILENT) and not _by_statement(error):
        return False
    return _ours(type(error).__module__, guests)


def _frames(traceback: TracebackType | None) -> int:
    count = 0
    while traceback is not None:
        count, traceback = count + 1, traceback.tb_next
    return count


def package(part: object) -> str:
    """Where a class or a function comes from."""
    return str(getattr(part, "__module__", "")).partition(".")[0]


def _by_statement(error: BaseException) -> bool:
    """Whether a `raise` raised it: other threads' exceptions arrive at calls and at the ends of loops."""
    traceback, code, at = error.__traceback__, None, 0
    while traceback is not None:
        code, at = traceback.tb_frame.f_code, traceback.tb_lasti
        traceback = traceback.tb_next
    return code is not None and at >= 0 and code.co_code[at] == _RAISE


def _raised_by_us(traceback: TracebackType | None, guests: Collection[str]) -> bool:
    """Whether, inside our innermost frame, there is nobody but whom we call."""
    ours = True
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code.co_filename.startswith(HOME):
            ours = True
        elif not _served(frame, guests):
            ours = False
        traceback = traceback.tb_next
    return ours


def _served(frame: FrameType, guests: Collection[str]) -> bool:
    kind = frames.kind_of_code(frame.f_code)
    # Methods that Python writes for our dataclasses have no file.
    return _invited(kind, guests) or _ours(str(frame.f_globals.get("__name__", "")), guests)


def _invited(kind: int, guests: Collection[str]) -> bool:
    return kind in _CALLED or (kind == frames.LIBRARY and LIBRARIES in guests)


def _ours(module: str, guests: Collection[str]) -> bool:
    """Whether a module is part of us, or works for us."""
    package = module.partition(".")[0]
    if package in SERVANTS or package in guests or package in ("whygrad", "builtins"):
        return True
    file = getattr(sys.modules.get(package), "__file__", None)
    return isinstance(file, str) and _invited(frames.kind_of(file), guests)
