"""The run's telemetry in bounded size, as it is stored in the report."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from whygrad.fields import FieldError, Fields, items, maybe, number, table, text, whole
from whygrad.telemetry.histogram import Histogram
from whygrad.telemetry.phases import Modules, Phase, Phases
from whygrad.telemetry.record import Gradient, LayerSample, Record, finite
from whygrad.telemetry.series import Series

VERSION = 1


@dataclass(slots=True)
class Course:
    """One kind of gradient (raw or clipped) of one parameter over the run."""

    samples: int = 0
    norm: float = 0.0
    """Mean over the samples whose norm is finite."""
    finite: int = 0
    largest: float = 0.0
    zeros: float = 0.0
    """Mean share."""
    nonfinite: float = 0.0
    mean: float = 0.0
    """Mean of the root mean square of its values: comparable between layers of any size."""
    square: float = 0.0
    """Mean of the squared norm."""
    histogram: Histogram = field(default_factory=Histogram)

    def add(self, gradient: Gradient) -> None:
        self.samples += 1
        self.zeros += (gradient.zeros - self.zeros) / self.samples
        self.nonfinite += (gradient.nonfinite - self.nonfinite) / self.samples
        self.histogram.merge(gradient.histogram)
        if math.isfinite(gradient.norm):
            self.finite += 1
            self.norm += (gradient.norm - self.norm) / self.finite
            self.square += (gradient.norm * gradient.norm - self.square) / self.finite
            self.mean += (gradient.norm / math.sqrt(max(gradient.size, 1)) - self.mean) / self.finite
            self.largest = max(self.largest, gradient.largest)

    @property
    def variation(self) -> float | None:
        """Standard deviation of the norm between samples, over its mean."""
        if self.finite < 2 or not self.norm:
            return None
        return math.sqrt(max(self.square - self.norm * self.norm, 0.0)) / self.norm

    def to_json(self) -> dict[str, Any]:
        return {
            "samples": self.samples,
            "finite": self.finite,
            "norm": self.norm,
            "square": finite(self.square),
            "variation": finite(self.variation),
            "mean": self.mean,
            "max": self.largest,
            "zeros": self.zeros,
            "nonfinite": self.nonfinite,
            "histogram": self.histogram.to_json(),
        }

    @classmethod
    def from_json(cls, value: object) -> Course:
        read = Fields(value)
        norm = read("norm", _size)
        return cls(
            samples=read("samples", whole()),
            norm=norm,
            finite=read("finite", whole()),
            largest=read("max", _size),
            zeros=read("zeros", _share),
            nonfinite=read("nonfinite", _share),
            mean=read("mean", _size),
            square=read.get("square", _square, None) or norm * norm,
            histogram=read("histogram", Histogram.from_json),
        )


@dataclass(slots=True)
class ParameterCourse:
    name: str
    layer: str
    module: str
    size: int
    raw: Course = field(default_factory=Course)
    clipped: Course = field(default_factory=Course)
    ratio: Series = field(default_factory=Series)
    rate: float | None = None
    noise: Series = field(default_factory=Series)


@dataclass(slots=True)
class Summary:
    """Everything sampled, added up."""

    samples: int = 0
    judged: int = 0
    """Samples in which both the raw and the clipped gradient were seen."""
    clipped: int = 0
    cost: float = 0.0
    """Seconds that the sampling took."""
    seconds: float = 0.0
    """Seconds that were watched."""
    parameters: dict[str, ParameterCourse] = field(default_factory=dict)
    norms: dict[str, Series] = field(default_factory=dict)
    """Of each layer, before clipping where that was seen."""
    series: dict[str, Series] = field(default_factory=dict)
    """Losses and signals."""
    terms: dict[str, Series] = field(default_factory=dict)
    """Gradient norm of a loss term on a module, in traced updates."""
    activations: dict[str, Series] = field(default_factory=dict)
    """Shares of dead units and idle values by layer, in traced updates."""
    notes: list[str] = field(default_factory=list)
    _phases: Phases = field(default_factory=Phases)

    @property
    def phases(self) -> list[Phase]:
        if self._phases.growing:
            self._phases.settle(self.modules())
        return self._phases.found

    def modules(self) -> Modules:
        """Histograms of the whole run by module."""
        out: Modules = {}
        for parameter in self.parameters.values():
            both = out.setdefault(parameter.module, (Histogram(), Histogram()))
            both[0].merge(parameter.raw.histogram)
            both[1].merge(parameter.clipped.histogram)
        return out

    @property
    def clip_rate(self) -> float | None:
        return self.clipped / self.judged if self.judged else None

    def add(self, record: Record) -> None:
        self.samples += 1
        if self._phases.begins(record):
            self._phases.begin(record.update, self.modules())
        if record.was_clipped is not None:
            self.judged += 1
            self.clipped += record.was_clipped
        for sample in record.parameters:
            course = self.parameters.get(sample.name)
            if course is None:
                course = ParameterCourse(sample.name, sample.layer, sample.module, sample.size)
                self.parameters[sample.name] = course
            if sample.raw is not None:
                course.raw.add(sample.raw)
            if sample.clipped is not None:
                course.clipped.add(sample.clipped)
            if sample.ratio is not None and math.isfinite(sample.ratio):
                course.ratio.add(record.update, sample.ratio)
            if sample.noise is not None and math.isfinite(sample.noise):
                course.noise.add(record.update, sample.noise)
            course.rate = sample.rate if sample.rate is not None else course.rate
        layers = record.layers()
        self._phases.add(record, layers)
        self._series(record, layers)
        self.notes += [note for note in record.notes if note not in self.notes]

    def _series(self, record: Record, layers: list[LayerSample]) -> None:
        for layer in layers:
            gradient = layer.raw or layer.clipped
            if gradient is not None and math.isfinite(gradient.norm):
                self.norms.setdefault(layer.name, Series()).add(record.update, gradient.norm)
        for name, value in (*record.losses.items(), *record.signals.items()):
            if math.isfinite(value):
                self.series.setdefault(name, Series()).add(record.update, value)
        for term, norms in record.terms.items():
            for module, norm in norms.items():
                if math.isfinite(norm):
                    self.terms.setdefault(f"{term} → {module}", Series()).add(record.update, norm)
        for place, activation in record.activations.items():
            for name, share in activation.numbers.items():
                self.activations.setdefault(f"{place} {name}", Series()).add(record.update, share)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "samples": self.samples,
            "judged": self.judged,
            "clipped": self.clipped,
            "cost": self.cost,
            "seconds": self.seconds,
            "parameters": [
                {
                    "name": p.name,
                    "layer": p.layer,
                    "module": p.module,
                    "size": p.size,
                    "learning_rate": finite(p.rate),
                    "raw": p.raw.to_json(),
                    "clipped": p.clipped.to_json(),
                    "update_ratio": p.ratio.shown(),
                    "noise": p.noise.shown(),
                }
                for p in self.parameters.values()
            ],
            "norms": {name: series.shown() for name, series in self.norms.items()},
            "series": {name: series.shown() for name, series in self.series.items()},
            "terms": {name: series.shown() for name, series in self.terms.items()},
            "activations": {name: series.shown() for name, series in self.activations.items()},
            "notes": self.notes,
            "phases": [phase.to_json() for phase in self.phases],
        }

    @classmethod
    def from_json(cls, value: object) -> Summary:
        read = Fields(value)
        read("version", whole(1, VERSION))
        each = read("parameters", items(_parameter))
        return cls(
            samples=read("samples", whole()),
            judged=read("judged", whole()),
            clipped=read("clipped", whole()),
            cost=read("cost", _size),
            seconds=read("seconds", _size),
            parameters={parameter.name: parameter for parameter in each},
            norms=read("norms", table(_series)),
            series=read("series", table(_series)),
            terms=read.get("terms", table(_series), {}),
            activations=read.get("activations", table(_series), {}),
            notes=read("notes", items(text)),
            _phases=Phases(read.get("phases", items(Phase.from_json), [])),
        )


_size = number(0.0)
_square = maybe(_size)
_share = number(0.0, 1.001)
"""Means of shares, which rounding may carry a little too far."""


def _parameter(value: object) -> ParameterCourse:
    read = Fields(value)
    return ParameterCourse(
        name=read("name", text),
        layer=read("layer", text),
        module=read("module", text),
        size=read("size", whole()),
        raw=read("raw", Course.from_json),
        clipped=read("clipped", Course.from_json),
        ratio=read("update_ratio", _series),
        rate=read("learning_rate", maybe(number())),
        noise=read.get("noise", _series, Series()),
    )


def _series(value: object) -> Series:
    points = items(_point)(value)
    return Series(points, 1, len(points), points[-1] if points else None)


def _point(value: object) -> tuple[int, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise FieldError("must be an update and a number")
    return whole()(value[0]), number()(value[1])
