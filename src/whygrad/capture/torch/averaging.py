"""The averages that Adam and its kin keep of their gradients, and what they say about noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from whygrad.capture.search import attribute, is_a
from whygrad.capture.torch import functions, methods, statistics
from whygrad.capture.torch.holding import groups
from whygrad.capture.torch.transfer import Parcel, timer

Tensor = torch.Tensor


@dataclass(slots=True)
class Averages:
    """Of some parameters on one device, after a step."""

    positions: list[int]
    betas: list[tuple[float, float]]
    place: int
    """In the parcel: the lengths of the mean gradients, and the sums of the mean squares."""
    steps: list[float] | int
    """How many there have been; where in the parcel, if the optimizer counts on the device (capturable, fused)."""


def averages(optimizer: Any, parcel: Parcel) -> list[Averages]:
    """Where an optimizer keeps a mean and a mean square of each gradient; by device."""
    rows: dict[torch.device, list[tuple[int, tuple[float, float], Tensor, Tensor, Any]]] = {}
    position = -1
    states = attribute(optimizer, "state")
    if not is_a(states, dict):
        return []
    for group in groups(optimizer):
        betas = group.get("betas")
        known = isinstance(betas, (tuple, list)) and len(betas) == 2 and all(isinstance(b, float) for b in betas)
        for parameter in group["params"]:
            position += 1
            state = states.get(parameter) if known and methods.gradient(parameter) is not None else None
            kept = [state.get(key) for key in ("exp_avg", "exp_avg_sq", "step")] if isinstance(state, dict) else []
            flat = [statistics.values(k) for k in kept[:2] if isinstance(k, Tensor)]
            if len(flat) == 2 and isinstance(flat[0], Tensor) and isinstance(flat[1], Tensor) and kept[2] is not None:
                row = (position, (betas[0], betas[1]), flat[0], flat[1], kept[2])
                rows.setdefault(flat[0].device, []).append(row)
    return [_measured(device, found, parcel) for device, found in rows.items()]


def _measured(
    device: torch.device, rows: list[tuple[int, tuple[float, float], Tensor, Tensor, Any]], parcel: Parcel
) -> Averages:
    positions, betas = [row[0] for row in rows], [row[1] for row in rows]
    means, squares, steps = [row[2] for row in rows], [row[3] for row in rows], [row[4] for row in rows]
    if device.type == "cpu":
        numbers = [*statistics.norms_here(means), *statistics.norms_here(squares, 1)]
        place = parcel.add(functions.tensor(numbers, dtype=torch.float64, device="cpu"))
        return Averages(positions, betas, place, [methods.number(s) for s in steps])
    with torch.cuda.device(device):
        start = timer(True)
        place = parcel.add(functions.cat([statistics.lengths_there(means), statistics.lengths_there(squares, 1)]))
        away = [s for s in steps if isinstance(s, Tensor) and s.is_cuda]
        counts = parcel.add(methods.double(functions.stack(away)).reshape(-1)) if len(away) == len(steps) else None
        parcel.time(start)
    # A mixture of both would have to be waited for, and is not known to exist: then no step is counted.
    here = [0.0 if isinstance(s, Tensor) and s.is_cuda else methods.number(s) for s in steps]
    return Averages(positions, betas, place, counts if counts is not None else here)


def noise(found: list[Averages], parcel: Parcel) -> dict[int, float]:
    """By position: the share of the gradients' mean square that is not in their mean.

    A mean of n draws still holds the n-th part of their noise; that part is known from beta and taken out.
    """
    out: dict[int, float] = {}
    for averaged in found:
        count = len(averaged.positions)
        lengths, sums = methods.tolist(parcel.take(averaged.place).view(2, count))
        steps = averaged.steps if isinstance(averaged.steps, list) else methods.tolist(parcel.take(averaged.steps))
        for position, (first, second), length, total, step in zip(
            averaged.positions, averaged.betas, lengths, sums, steps, strict=True
        ):
            left, right = 1 - first**step, 1 - second**step
            # How much of independent draws' squares remains in the square of their weighted mean.
            kept = (1 - first) / (1 + first) * (1 + first**step) / left if left else 1.0
            if step > 1 and total > 0 and kept < 1:
                shared = (length / left) ** 2 / (total / right)
                out[position] = min(max((1 - shared) / (1 - kept), 0.0), 1.0)
    return out
