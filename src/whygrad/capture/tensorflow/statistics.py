"""One gradient in numbers, and what an optimizer's own limits make of several."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.telemetry.histogram import BINS, LOWEST, Histogram
from whygrad.telemetry.record import Gradient

LIMITS = ("clipnorm", "global_clipnorm", "clipvalue")
"""Settings of Keras' optimizers, in the order in which the first one that is set wins."""


def measured(values: Any) -> Gradient:
    flat = np.ravel(np.asarray(values, dtype="float64"))
    finite = np.isfinite(flat)
    zeros = int(np.count_nonzero(flat == 0))
    with np.errstate(over="ignore", invalid="ignore"):
        norm = float(np.sqrt(np.sum(np.square(flat))))
    size = max(flat.size, 1)
    largest = float(np.max(np.abs(flat))) if flat.size else 0.0
    return Gradient(norm, largest, zeros / size, float(flat.size - finite.sum()) / size, flat.size, _histogram(flat))


def _histogram(flat: Any) -> Histogram:
    kept = flat[np.isfinite(flat) & (flat != 0)]
    fraction, exponent = np.frexp(np.abs(kept))
    places = np.clip(2 * (exponent.astype("int64") - 1 - LOWEST) + (fraction >= 0.75), 0, BINS - 1) + 1
    found, counts = np.unique(np.where(kept > 0, places, -places), return_counts=True)
    zeros, nonfinite = int(np.count_nonzero(flat == 0)), int(flat.size - np.isfinite(flat).sum())
    return Histogram(dict(zip(found.tolist(), counts.tolist(), strict=True)), zeros, nonfinite)


def limit_of(optimizer: Any) -> tuple[str, float] | None:
    """The limit that the optimizer itself puts on gradients, if any."""
    for name in LIMITS:
        value = getattr(optimizer, name, None)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return name, float(value)
    return None


def limited(gradients: list[Any], limit: tuple[str, float] | None) -> list[Any]:
    """The gradients as the optimizer uses them."""
    if limit is None:
        return gradients
    how, most = limit
    if how == "clipvalue":
        return [np.clip(gradient, -most, most) for gradient in gradients]
    norms = [float(np.linalg.norm(np.ravel(gradient))) for gradient in gradients]
    if how == "global_clipnorm":
        norms = [float(np.linalg.norm(norms))] * len(gradients)
    return [g * (most / norm) if norm > most else g for g, norm in zip(gradients, norms, strict=True)]
