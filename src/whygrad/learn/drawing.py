"""Questions, drawn anew for every check: an answer that was written down beforehand does not fit them."""

from __future__ import annotations

import random


class Draw:
    """Numbers with few digits, because they appear in messages."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed) if seed is not None else random.SystemRandom()

    def number(self, low: float = -3.0, high: float = 3.0) -> float:
        """Away from zero and from whole numbers, where many mistakes look right."""
        while True:
            value = round(self._random.uniform(low, high), 2)
            if abs(value) >= 0.2 and abs(value - round(value)) >= 0.03:
                return value

    def numbers(self, count: int, low: float = -3.0, high: float = 3.0) -> list[float]:
        """No two alike."""
        out: list[float] = []
        while len(out) < count:
            value = self.number(low, high)
            if value not in out:
                out.append(value)
        return out

    def table(self, rows: int, columns: int, low: float = -3.0, high: float = 3.0) -> list[list[float]]:
        return [self.numbers(columns, low, high) for _ in range(rows)]

    def whole(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def wholes(self, count: int, low: int, high: int) -> list[int]:
        """Not all alike."""
        while True:
            out = [self.whole(low, high) for _ in range(count)]
            if count < 2 or len(set(out)) > 1:
                return out
