"""From an instruction to the expression it belongs to."""

from __future__ import annotations

import itertools
from functools import lru_cache
from types import CodeType

from whygrad.source import expressions, files
from whygrad.trace.site import Site


def resolve(code: CodeType, lasti: int) -> Site:
    """The expression that the instruction at `lasti` evaluates."""
    return _resolve(code.co_filename, code, lasti)


@lru_cache(maxsize=4096)
def _resolve(file: str, code: CodeType, lasti: int) -> Site:
    # Python calls equal code of two files equal, so the file has to be part of the key.
    line, end_line, col, end_col = next(
        itertools.islice(code.co_positions(), max(lasti, 0) // 2, None), (None, None, None, None)
    )
    start = line or code.co_firstlineno
    stop = end_line or start
    return Site(
        file,
        start,
        files.characters(file, start, col or 0),
        stop,
        files.characters(file, stop, end_col if end_col is not None else 0),
        code.co_qualname,
    )


def decorator(code: CodeType, names: tuple[str, ...]) -> Site:
    """The decorator of this function that mentions one of the names; else its first line."""
    file = code.co_filename
    found = expressions.decorator(file, code.co_name, code.co_firstlineno, names)
    if found is None:
        return Site(file, code.co_firstlineno, 0, code.co_firstlineno, 0, code.co_qualname)
    return Site(*found, code.co_qualname)
