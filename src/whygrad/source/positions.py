"""From an instruction to the expression it belongs to."""

from __future__ import annotations

import re
from types import CodeType

from whygrad.source import expressions, files
from whygrad.trace.site import Site

MOST_CODES = 4096
Position = tuple[int | None, int | None, int | None, int | None]


def resolve(code: CodeType, lasti: int) -> Site:
    """The expression that the instruction at `lasti` evaluates."""
    known = _known.get(id(code))
    if known is None:
        if len(_known) >= MOST_CODES:
            _known.clear()
        known = _known[id(code)] = _Positions(code)
    found = known.sites.get(lasti)
    if found is None:
        found = known.sites[lasti] = known.resolve(lasti)
    return found


class _Positions:
    """The instructions of one piece of code. By identity: Python calls equal code of two files equal, and to find that
    out reads all of it, each time; a script's module may be as long as a book."""

    def __init__(self, code: CodeType) -> None:
        self.code = code  # Kept, so that no other code gets its identity.
        self.sites: dict[int, Site] = {}
        self._positions: list[Position] = []

    def resolve(self, lasti: int) -> Site:
        if not self._positions:
            self._positions = list(self.code.co_positions())
        index = max(lasti, 0) // 2
        found = self._positions[index] if index < len(self._positions) else (None, None, None, None)
        return _site(self.code, found)


_known: dict[int, _Positions] = {}
_RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_\d+$")
"""What torch's compiler calls the rest of a function behind a break."""


def _site(code: CodeType, position: Position) -> Site:
    file = code.co_filename
    line, end_line, col, end_col = position
    start = line or code.co_firstlineno
    stop = end_line or start
    return Site(
        file,
        start,
        files.characters(file, start, col or 0),
        stop,
        files.characters(file, stop, end_col if end_col is not None else 0),
        _RESUMED.sub(r"\1", code.co_qualname),
    )


def decorator(code: CodeType, names: tuple[str, ...]) -> Site:
    """The decorator of this function that mentions one of the names; else its first line."""
    file = code.co_filename
    found = expressions.decorator(file, code.co_name, code.co_firstlineno, names)
    if found is None:
        return Site(file, code.co_firstlineno, 0, code.co_firstlineno, 0, code.co_qualname)
    return Site(*found, code.co_qualname)
