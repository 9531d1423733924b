"""A JSON document in a file that may hold anything, or be no file at all."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""A pipe that nobody writes into is opened at once and refused, instead of waited for."""


class DocumentError(Exception):
    """There is no document in the file; the message says why."""


def read(file: Path, most: int) -> object:
    """What the file says. Raises FileNotFoundError where there is none, DocumentError for everything else."""
    try:
        data = _content(file, most)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DocumentError(error.strerror or type(error).__name__) from error
    try:
        return json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DocumentError("it is not UTF-8 text") from error
    except RecursionError as error:
        raise DocumentError("it is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise DocumentError(str(error)) from error
    except ValueError as error:  # Python reads no more than 4,300 digits.
        raise DocumentError("it has a number without end") from error


def _content(file: Path, most: int) -> bytes:
    handle = os.open(file, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise DocumentError("it is no file")
        with open(handle, "rb", closefd=False) as stream:
            data = stream.read(most + 1)
    finally:
        os.close(handle)
    if len(data) > most:
        raise DocumentError(f"it has more than {most // 1_000_000} MB")
    return data
