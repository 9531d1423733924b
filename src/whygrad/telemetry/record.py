"""What one sampled update says."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from whygrad.telemetry.histogram import Histogram

CLIPPED = 1e-4
"""A norm that fell by more than this share was clipped; less is rounding, as of a gradient scaler's division."""


@dataclass(slots=True)
class Gradient:
    """One gradient, or those of a layer together (without a histogram: its parameters' add up), at one moment."""

    norm: float
    largest: float
    zeros: float
    """Share of the values that are exactly zero."""
    nonfinite: float
    """Share of the values that are NaN or infinite."""
    size: int
    histogram: Histogram = field(default_factory=Histogram)

    @classmethod
    def together(cls, parts: Iterable[Gradient]) -> Gradient | None:
        several = list(parts)
        if not several:
            return None
        size = sum(p.size for p in several)
        return cls(
            math.hypot(*(p.norm for p in several)),
            # The built-in max drops a NaN that does not come first.
            math.nan if any(math.isnan(p.largest) for p in several) else max(p.largest for p in several),
            sum(p.zeros * p.size for p in several) / max(size, 1),
            sum(p.nonfinite * p.size for p in several) / max(size, 1),
            size,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "norm": finite(self.norm),
            "max": finite(self.largest),
            "zeros": self.zeros,
            "nonfinite": self.nonfinite,
            "histogram": self.histogram.to_json(),
        }


@dataclass(slots=True)
class Activation:
    """What an activation function does with the values of the layer before it, over one batch."""

    saturates: bool
    """Flat at both ends (tanh, sigmoid), rather than zero below zero (ReLU)."""
    idle: float
    """Share of the values through which no gradient passes."""
    dead: float | None = None
    """Share of the units that are zero for the whole batch; None where that is not to be told."""

    @property
    def numbers(self) -> dict[str, float]:
        out = {"saturated" if self.saturates else "zeros": self.idle}
        return out if self.dead is None else {**out, "dead": self.dead}


@dataclass(slots=True)
class ParameterSample:
    """One parameter around one step."""

    name: str
    module: str
    """The network it belongs to, by the user's variable."""
    size: int
    raw: Gradient | None = None
    """After the last backward, before anything changed it; None when no backward was seen to leave it."""
    clipped: Gradient | None = None
    """As the step consumed it; None when the step evaluates gradients itself (a closure)."""
    ratio: float | None = None
    """Length of the step's change over the length of the weights."""
    rate: float | None = None
    """Learning rate."""
    noise: float | None = None
    """Share of the mean square of recent gradients that is not in their mean, where the optimizer averages both."""

    @property
    def layer(self) -> str:
        """The module that owns it: everything before the last dot."""
        return self.name.rpartition(".")[0] or self.name


@dataclass(slots=True)
class LayerSample:
    """The parameters of one layer, together."""

    name: str
    raw: Gradient | None
    clipped: Gradient | None
    ratio: float | None

    @property
    def was_clipped(self) -> bool | None:
        return _clipped([(self.raw, self.clipped)])


@dataclass(slots=True)
class Record:
    """One sampled update of one optimizer."""

    update: int
    seconds: float
    """Since watching began."""
    optimizer: str
    parameters: list[ParameterSample] = field(default_factory=list)
    losses: dict[str, float] = field(default_factory=dict)
    signals: dict[str, float] = field(default_factory=dict)
    """Quantities of reinforcement learning, recognised in the trace or by their usual names."""
    terms: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of a traced update: the norm of the gradient that each term of the loss gives each module."""
    activations: dict[str, Activation] = field(default_factory=dict)
    """Of a traced update, by the layer before the activation."""
    scale: float | None = None
    """What a gradient scaler had multiplied the raw gradients by; they are given without it."""
    notes: list[str] = field(default_factory=list)
    """What could not be measured, and why."""

    @property
    def raw(self) -> Gradient | None:
        return Gradient.together(p.raw for p in self.parameters if p.raw is not None)

    @property
    def clipped(self) -> Gradient | None:
        return Gradient.together(p.clipped for p in self.parameters if p.clipped is not None)

    @property
    def was_clipped(self) -> bool | None:
        """Whether any gradient was made smaller between backward and step; None when only one was seen."""
        return _clipped([(p.raw, p.clipped) for p in self.parameters])

    def layers(self) -> list[LayerSample]:
        """In the order in which the optimizer holds them, which is the order of depth in nearly every network."""
        groups: dict[str, list[ParameterSample]] = {}
        for parameter in self.parameters:
            groups.setdefault(parameter.layer, []).append(parameter)
        return [
            LayerSample(
                name,
                Gradient.together(p.raw for p in members if p.raw is not None),
                Gradient.together(p.clipped for p in members if p.clipped is not None),
                max((p.ratio for p in members if p.ratio is not None), default=None),
            )
            for name, members in groups.items()
        ]

    def to_json(self) -> dict[str, Any]:
        raw, clipped = self.raw, self.clipped
        return {
            "update": self.update,
            "seconds": self.seconds,
            "optimizer": self.optimizer,
            "raw_norm": finite(raw.norm) if raw is not None else None,
            "clipped_norm": finite(clipped.norm) if clipped is not None else None,
            "was_clipped": self.was_clipped,
            "losses": {name: finite(value) for name, value in self.losses.items()},
            "signals": {name: finite(value) for name, value in self.signals.items()},
            "terms": {
                name: {module: finite(norm) for module, norm in norms.items()} for name, norms in self.terms.items()
            },
            "activations": {layer: found.numbers for layer, found in self.activations.items()},
            "scale": self.scale,
            "notes": self.notes,
            "parameters": [_parameter(p) for p in self.parameters],
            "layers": [_layer(layer) for layer in self.layers()],
        }


def _clipped(pairs: list[tuple[Gradient | None, Gradient | None]]) -> bool | None:
    seen = [(raw, clipped) for raw, clipped in pairs if raw is not None and clipped is not None]
    return any(clipped.norm < raw.norm * (1 - CLIPPED) for raw, clipped in seen) if seen else None


def _parameter(parameter: ParameterSample) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "module": parameter.module,
        "size": parameter.size,
        "raw": parameter.raw.to_json() if parameter.raw is not None else None,
        "clipped": parameter.clipped.to_json() if parameter.clipped is not None else None,
        "update_ratio": finite(parameter.ratio),
        "learning_rate": finite(parameter.rate),
        "noise": finite(parameter.noise),
    }


def _layer(layer: LayerSample) -> dict[str, Any]:
    out: dict[str, Any] = {"name": layer.name, "update_ratio": finite(layer.ratio)}
    for name, gradient in (("raw", layer.raw), ("clipped", layer.clipped)):
        data = gradient.to_json() if gradient is not None else None
        if data is not None:
            del data["histogram"]
        out[name] = data
    return out


def finite(value: float | None) -> float | None:
    """JSON knows neither NaN nor infinity; the share of non-finite values says that there were some."""
    return value if value is not None and math.isfinite(value) else None
