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

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"
