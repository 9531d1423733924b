"""What Python itself says and does about the exception that ends a process (`PyErr_PrintEx`), step by step."""

from __future__ import annotations

import contextlib
import os
import sys

from whygrad.capture import tracebacks

STDERR = 2
_display = sys.__excepthook__  # Whatever the script puts there, the interpreter itself does not ask for it.


def say(error: BaseException, *, full: bool = False) -> int:
    """Print it through the hook in force, with or without whygrad's own frames; the status of the process."""
    if isinstance(error, SystemExit):
        return _status(error)
    if not full:
        tracebacks.trim(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    if not hasattr(sys, "excepthook"):
        _write("sys.excepthook is missing\n")
        _shown(error)
        return 1
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit as leaving:
        return _status(leaving)
    except BaseException as second:
        _write("Error in sys.excepthook:\n")
        tracebacks.trim(second)
        _shown(second)
        _write("\nOriginal exception was:\n")
        _shown(error)
    return 1


def _shown(error: BaseException) -> None:
    _display(type(error), error, error.__traceback__)


def _status(error: SystemExit) -> int:
    """The number that was asked for; anything else is printed."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return int(error.code) if abs(error.code) <= sys.maxsize else -1
    stream = getattr(sys, "stderr", None)
    with contextlib.suppress(Exception):  # What cannot be put into words, or not be written, is left out.
        said = str(error.code)
        _write(said) if stream is None else stream.write(said)
    _write("\n")
    return 1


def _write(text: str) -> None:
    """To the script's stderr, or past it to where it was at the start."""
    try:
        sys.stderr.write(text)
    except Exception:
        with contextlib.suppress(OSError):
            os.write(STDERR, text.encode(errors="backslashreplace"))
