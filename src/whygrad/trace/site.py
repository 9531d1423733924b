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

    def within(self, other: Site) -> bool:
        """Whether this expression lies inside the other one."""
        if self.file != other.file:
            return False
        start = (other.line, other.col) <= (self.line, self.col)
        return start and (self.end_line, self.end_col) <= (other.end_line, other.end_col)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"
