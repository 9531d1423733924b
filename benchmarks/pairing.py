"""Ratios of times that were measured side by side, with an interval."""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass

RESAMPLES = 1000


@dataclass(frozen=True)
class Ratio:
    """How much longer one takes than the other."""

    whole: float
    """All time together over the plain loop's: what happens in a few rounds only is in here as well."""
    low: float
    high: float
    """Of its 95 % bootstrap interval, resampling rounds."""
    middle: float
    """Median of the rounds' own ratios: an ordinary round."""
    rounds: int

    def __str__(self) -> str:
        return f"{self.whole:.3f}× ({self.low:.3f}–{self.high:.3f})"


def paired(plain: list[float], other: list[float]) -> Ratio:
    """Both were measured next to each other, round by round, so that the machine's mood divides out."""
    pairs = list(zip(plain, other, strict=True))
    rng = random.Random(0)
    ratios = sorted(_whole(rng.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    low, high = ratios[int(0.025 * RESAMPLES)], ratios[int(0.975 * RESAMPLES)]
    return Ratio(_whole(pairs), low, high, statistics.median(b / a for a, b in pairs), len(pairs))


def _whole(pairs: list[tuple[float, float]]) -> float:
    return sum(b for _, b in pairs) / sum(a for a, _ in pairs)
