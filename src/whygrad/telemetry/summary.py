"""The run's telemetry in bounded size, as it is stored in the report."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

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
            self.square += (gradient.norm**2 - self.square) / self.finite
            self.mean += (gradient.norm / math.sqrt(max(gradient.size, 1)) - self.mean) / self.finite
            self.largest = max(self.largest, gradient.largest)

    @property
    def variation(self) -> float | None:
        """Standard deviation of the norm between samples, over its mean."""
        if self.finite < 2 or not self.norm:
            return None
        return math.sqrt(max(self.square - self.norm**2, 0.0)) / self.norm

    def to_json(self) -> dict[str, Any]:
        return {
            "samples": self.samples,
            "finite": self.finite,
            "norm": self.norm,
            "square": self.square,
            "variation": finite(self.variation),
            "mean": self.mean,
            "max": self.largest,
            "zeros": self.zeros,
            "nonfinite": self.nonfinite,
            "histogram": self.histogram.to_json(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Course:
        histogram = Histogram.from_json(data["histogram"])
        numbers = (float(data[key]) for key in ("norm", "mean", "max", "zeros", "nonfinite"))
        norm, mean, largest, zeros, nonfinite = numbers
        square = float(data.get("square", norm**2))
        return cls(int(data["samples"]), norm, int(data["finite"]), largest, zeros, nonfinite, mean, square, histogram)


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
    def from_json(cls, data: dict[str, Any]) -> Summary:
        if data["version"] > VERSION:
            raise ValueError(f"telemetry of a newer format ({data['version']})")
        summary = cls(data["samples"], data["judged"], data["clipped"], data["cost"], data["seconds"])
        for row in data["parameters"]:
            summary.parameters[row["name"]] = ParameterCourse(
                row["name"],
                row["layer"],
                row["module"],
                int(row["size"]),
                Course.from_json(row["raw"]),
                Course.from_json(row["clipped"]),
                _series(row["update_ratio"]),
                row["learning_rate"],
                _series(row.get("noise", [])),
            )
        summary.norms = {name: _series(points) for name, points in data["norms"].items()}
        summary.series = {name: _series(points) for name, points in data["series"].items()}
        summary.terms = {name: _series(points) for name, points in data.get("terms", {}).items()}
        summary.activations = {name: _series(points) for name, points in data.get("activations", {}).items()}
        summary.notes = list(data["notes"])
        summary._phases = Phases([Phase.from_json(phase) for phase in data.get("phases", [])])
        return summary


def _series(points: list[list[float]]) -> Series:
    read = [(int(update), float(value)) for update, value in points]
    return Series(read, 1, len(read), read[-1] if read else None)
