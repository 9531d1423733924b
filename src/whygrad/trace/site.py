"""A place in the user's source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """An expression: lines count from 1, columns (in characters) from 0, the end is exclusive."""

    file: str
    line: int
    col: int = 0
    end_line: int = 0
    end_col: int = 0
    function: str = ""
    within: str = ""
    """The place inside a library that this line of the user's led to: one call may do many things."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"
