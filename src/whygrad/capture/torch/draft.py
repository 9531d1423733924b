"""A sampled update before its numbers have arrived, and the record that it becomes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch

from whygrad.capture.torch import methods
from whygrad.capture.torch.assembly import invented
from whygrad.capture.torch.averaging import Averages, averages, noise
from whygrad.capture.torch.measurement import Measurement
from whygrad.capture.torch.moving import Moving, ratios
from whygrad.capture.torch.parameters import Known
from whygrad.capture.torch.showing import Showing
from whygrad.capture.torch.transfer import Parcel
from whygrad.telemetry.record import Gradient, ParameterSample, Record

Tensor = torch.Tensor


@dataclass
class Draft:
    parcel: Parcel
    raw: Measurement | None = None
    clipped: Measurement | None = None
    check: Measurement | None = None
    """Only norms, where the gradients seem untouched since the backward."""
    scale: int | None = None
    """Where in the parcel the gradient scaler's factor is."""
    inside: int | None = None
    """The same for a factor that the optimizer itself divides by."""
    moving: Moving | None = None
    moved: list[tuple[list[int], int]] = field(default_factory=list)
    averages: list[Averages] = field(default_factory=list)
    losses: dict[str, Tensor] = field(default_factory=dict)
    signals: dict[str, Tensor] = field(default_factory=dict)
    placed: list[dict[str, int]] = field(default_factory=list)
    """Where in the parcel losses and signals are."""
    showing: Showing | None = None
    """Of an update that was traced."""
    rates: list[float | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    update: int = 0
    seconds: float = 0.0
    contradicted: bool = False

    def finish(self, optimizer: Any) -> None:
        """The step is over: send everything on its way."""
        self.averages = averages(optimizer, self.parcel)
        if self.moving is not None:
            self.moved, self.moving = self.moving.after(self.parcel), None
        for values in (self.losses, self.signals):
            self.placed.append({name: self.parcel.add(value) for name, value in values.items()})
        self.parcel.send()


def written(draft: Draft, optimizer: str, tensors: list[tuple[Known, Tensor]]) -> Record:
    """The record, now that everything is here."""
    parcel = draft.parcel
    scale = _factor(draft.scale, parcel)
    raw = draft.raw.gradients(parcel, scale) if draft.raw is not None else {}
    clipped = _clipped(draft, raw)
    moved, noisy = ratios(draft.moved, parcel), noise(draft.averages, parcel)
    record = Record(draft.update, draft.seconds, optimizer, scale=scale if scale != 1.0 else None)
    record.losses, record.signals = (
        {name: methods.number(parcel.take(place)) for name, place in places.items()} for places in draft.placed
    )
    if draft.showing is not None:
        record.activations = draft.showing.activations
        record.signals = {**draft.showing.signals, **record.signals}  # The script's own numbers go first.
        record.terms = {
            name: {module: norm / scale for module, norm in norms.items()}
            for name, norms in draft.showing.terms.items()
        }
    record.notes = list(draft.notes)
    for measurement in (draft.raw, draft.clipped):
        if measurement is not None:
            record.notes += sorted(measurement.skipped.difference(record.notes))
    for position, (known, tensor) in enumerate(tensors):
        if position in raw or position in clipped:
            name = known.name or invented(known)
            rate = draft.rates[position] if position < len(draft.rates) else None
            ratio = moved.get(position)
            record.parameters.append(
                ParameterSample(
                    name,
                    known.module or name,
                    tensor.numel(),
                    raw.get(position),
                    clipped.get(position),
                    ratio if ratio is not None and math.isfinite(ratio) else None,
                    rate,
                    noisy.get(position),
                )
            )
    return record


def _clipped(draft: Draft, raw: dict[int, Gradient]) -> dict[int, Gradient]:
    if draft.check is not None and draft.raw is not None:
        draft.contradicted = not draft.check.agrees(draft.raw, draft.parcel)
        return {} if draft.contradicted else raw
    if draft.clipped is None:
        return {}
    return draft.clipped.gradients(draft.parcel, _factor(draft.inside, draft.parcel))


def _factor(place: int | None, parcel: Parcel) -> float:
    return methods.number(parcel.take(place)) if place is not None else 1.0
