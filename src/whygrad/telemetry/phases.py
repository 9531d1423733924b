"""The run in a few stretches: what each layer's gradient was like early, later and at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeVar

from whygrad.fields import LARGEST, Decode, FieldError, Fields, items, number, table, whole
from whygrad.telemetry.histogram import Histogram
from whygrad.telemetry.record import Gradient, LayerSample, Record

T = TypeVar("T")
MOST = 8
Modules = dict[str, tuple[Histogram, Histogram]]
"""Raw and clipped by module."""


@dataclass(slots=True)
class Level:
    """One kind of gradient (raw or clipped) of one layer over a stretch."""

    samples: int = 0
    mean: float = 0.0
    """Mean of the root mean square of its values."""
    largest: float = 0.0
    zeros: float = 0.0

    def add(self, gradient: Gradient) -> None:
        if math.isfinite(gradient.norm):
            rms = gradient.norm / math.sqrt(max(gradient.size, 1))
            self.merge(Level(1, rms, gradient.largest, gradient.zeros))

    def merge(self, other: Level) -> None:
        self.samples += other.samples
        part = other.samples / max(self.samples, 1)
        self.mean += (other.mean - self.mean) * part
        self.zeros += (other.zeros - self.zeros) * part
        self.largest = max(self.largest, other.largest)


@dataclass(slots=True)
class Phase:
    """Raw and clipped side by side, by layer and, as histograms, by module."""

    first: int
    last: int
    layers: dict[str, tuple[Level, Level]] = field(default_factory=dict)
    modules: Modules = field(default_factory=dict)
    optimizers: set[str] = field(default_factory=set)

    def add(self, record: Record, layers: list[LayerSample]) -> None:
        self.last = max(self.last, record.update)
        self.optimizers.add(record.optimizer)
        for layer in layers:
            levels = self.layers.setdefault(layer.name, (Level(), Level()))
            for level, gradient in zip(levels, (layer.raw, layer.clipped), strict=True):
                if gradient is not None:
                    level.add(gradient)

    def merge(self, later: Phase) -> None:
        self.last = later.last
        self.optimizers |= later.optimizers
        for name, levels in later.layers.items():
            for mine, other in zip(self.layers.setdefault(name, (Level(), Level())), levels, strict=True):
                mine.merge(other)
        for name, both in later.modules.items():
            for own, added in zip(self.modules.setdefault(name, (Histogram(), Histogram())), both, strict=True):
                own.merge(added)

    def to_json(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "last": self.last,
            "layers": {name: [_numbers(level) for level in levels] for name, levels in self.layers.items()},
            "modules": {name: [h.to_json() for h in both] for name, both in self.modules.items()},
        }

    @classmethod
    def from_json(cls, value: object) -> Phase:
        read = Fields(value)
        layers = read("layers", table(lambda both: _pair(both, _level)))
        modules = read("modules", table(lambda both: _pair(both, Histogram.from_json)))
        return cls(read("first", whole()), read("last", whole()), layers, modules)


def _numbers(level: Level) -> list[float] | None:
    shown = [float(f"{value:.6g}") for value in (level.mean, level.largest, level.zeros)]
    return [level.samples, *shown] if level.samples else None


def _level(value: object) -> Level:
    if value is None:
        return Level()
    numbers = items(number(0.0), most=4)(value)
    if len(numbers) != 4:
        raise FieldError("must be four numbers")
    samples, mean, largest, zeros = numbers
    return Level(int(min(samples, LARGEST)), mean, largest, zeros)


def _pair(value: object, decode: Decode[T]) -> tuple[T, T]:
    """Raw and clipped."""
    both = items(decode, most=2)(value)
    if len(both) != 2:
        raise FieldError("must be two, raw and clipped")
    return both[0], both[1]


@dataclass(slots=True)
class Phases:
    """A phase begins when an optimizer comes again; where there are too many, two become one.

    Histograms are those of the whole run less those of its beginning: adding them up a second time with every sample
    would double what a sample costs.
    """

    found: list[Phase] = field(default_factory=list)
    stride: int = 1
    """Turns of all optimizers that make a phase."""
    _turns: int = 0
    _before: Modules | None = None
    """Histograms of the whole run when the current phase began; None for phases that were read from a file."""

    @property
    def growing(self) -> bool:
        return self._before is not None

    def begins(self, record: Record) -> bool:
        """Whether this record is the first of a new phase."""
        current = self.found[-1] if self.found else None
        return current is None or (record.optimizer in current.optimizers and self._turns >= self.stride)

    def begin(self, update: int, now: Modules) -> None:
        self.settle(now)
        if len(self.found) >= MOST:
            for early, late in zip(self.found[::2], self.found[1::2], strict=True):
                early.merge(late)
            del self.found[1::2]
            self.stride *= 2
        self.found.append(Phase(update, update))
        self._turns, self._before = 1, now

    def add(self, record: Record, layers: list[LayerSample]) -> None:
        current = self.found[-1]
        if record.optimizer in current.optimizers:
            self._turns += 1
            current.optimizers.clear()
        current.add(record, layers)

    def settle(self, now: Modules) -> None:
        """Give the current phase its histograms."""
        before = self._before
        if before is not None and self.found:
            nothing = (Histogram(), Histogram())
            self.found[-1].modules = {
                name: (raw.since(before.get(name, nothing)[0]), clipped.since(before.get(name, nothing)[1]))
                for name, (raw, clipped) in now.items()
            }
