"""Histograms of signed magnitudes in fixed bins, so that counts can be added over time and over processes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from whygrad.fields import FieldError, Fields, digits, numbered, whole

LOWEST = -40
"""The smallest magnitude that has a bin of its own is 2 to this power; what is smaller goes there too."""
HIGHEST = 24
BINS = 2 * (HIGHEST - LOWEST)
"""Per sign: two to the octave, [2^n, 1.5·2^n) and [1.5·2^n, 2^(n+1)). A float's first ten bits are its bin."""


def bin_of(value: float) -> int:
    """1 to BINS for positive values, the same below zero for negative ones; 0 is no bin."""
    fraction, exponent = math.frexp(abs(value))
    index = 2 * (exponent - 1 - LOWEST) + (fraction >= 0.75)
    place = min(max(index, 0), BINS - 1) + 1
    return place if value > 0 else -place


def limits(place: int) -> tuple[float, float]:
    """The lower and upper limit of a bin."""
    octave, half = divmod(abs(place) - 1, 2)
    low, high = ((1.0, 1.5), (1.5, 2.0))[half]
    scale = 2.0 ** (octave + LOWEST)
    return (low * scale, high * scale) if place > 0 else (-high * scale, -low * scale)


@dataclass(slots=True)
class Histogram:
    """Counts by bin; zeros and what is not finite are counted apart."""

    counts: dict[int, int] = field(default_factory=dict)
    zeros: int = 0
    nonfinite: int = 0

    @classmethod
    def of(cls, values: Iterable[float]) -> Histogram:
        histogram = cls()
        for value in values:
            histogram.add(value)
        return histogram

    def add(self, value: float, count: int = 1) -> None:
        if value == 0:
            self.zeros += count
        elif not math.isfinite(value):
            self.nonfinite += count
        else:
            place = bin_of(value)
            self.counts[place] = self.counts.get(place, 0) + count

    def merge(self, other: Histogram) -> None:
        """Take the other's counts in."""
        for place, count in other.counts.items():
            self.counts[place] = self.counts.get(place, 0) + count
        self.zeros += other.zeros
        self.nonfinite += other.nonfinite

    def since(self, earlier: Histogram) -> Histogram:
        """What has been added since it was as `earlier`."""
        grown = {place: count - earlier.counts.get(place, 0) for place, count in self.counts.items()}
        counts = {place: count for place, count in grown.items() if count}
        return Histogram(counts, self.zeros - earlier.zeros, self.nonfinite - earlier.nonfinite)

    @property
    def total(self) -> int:
        """All finite values, zeros included."""
        return sum(self.counts.values()) + self.zeros

    def quantile(self, share: float) -> float:
        """The value below which this share of the finite values lies, as exactly as the bins allow."""
        wanted, below = share * self.total, 0.0
        for low, high, count in self.buckets():
            if count and below + count >= wanted:
                return low + (high - low) * max(0.0, wanted - below) / count
            below += count
        return 0.0

    def buckets(self) -> Iterator[tuple[float, float, int]]:
        """Lower limit, upper limit and count in rising order, from the first bin in use to the last; zeros
        fill the gap between the smallest magnitudes of the two signs."""
        if not self.counts and not self.zeros:
            return
        inner = limits(1)[0]
        negative, positive = [p for p in self.counts if p < 0], [p for p in self.counts if p > 0]
        if negative:
            for place in range(min(negative), (max(negative) if not (positive or self.zeros) else -1) + 1):
                yield (*limits(place), self.counts.get(place, 0))
        if self.zeros or (negative and positive):
            yield -inner, inner, self.zeros
        if positive:
            for place in range(min(positive) if not (negative or self.zeros) else 1, max(positive) + 1):
                yield (*limits(place), self.counts.get(place, 0))

    def to_json(self) -> dict[str, Any]:
        ordered = {str(place): self.counts[place] for place in sorted(self.counts)}
        return {"zeros": self.zeros, "nonfinite": self.nonfinite, "bins": ordered}

    @classmethod
    def from_json(cls, value: object) -> Histogram:
        read = Fields(value)
        counts = read("bins", numbered(whole(1), digits(whole(-BINS, BINS))))
        if 0 in counts:
            raise FieldError("has a bin that does not exist")
        return cls(counts, read("zeros", whole()), read("nonfinite", whole()))
