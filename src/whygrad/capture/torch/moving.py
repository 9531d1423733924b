"""How far a step moves the weights, relative to their length."""

from __future__ import annotations

import math

import torch

from whygrad.capture.torch import functions, methods
from whygrad.capture.torch.parameters import Known
from whygrad.capture.torch.statistics import flat
from whygrad.capture.torch.transfer import Parcel
from whygrad.capture.torch.unheard import opaque

Tensor = torch.Tensor
COMPARED = 16_384
"""Values that are copied of each parameter; of a larger one so many at equal distances, which bounds memory."""


class Moving:
    """Copies taken before a step, compared after it."""

    def __init__(self, tensors: list[tuple[Known, Tensor]], *, wanted: bool = False) -> None:
        """Of parameters with a gradient, or of all: gradients may come while the step is running."""
        self._rows: dict[tuple[torch.device, torch.dtype], list[tuple[int, Tensor]]] = {}
        for position, (_, tensor) in enumerate(tensors):
            seen = _seen(tensor) if wanted or methods.gradient(tensor) is not None else None
            if seen is not None:
                self._rows.setdefault((seen.device, seen.dtype), []).append((position, seen))
        self._copies = {key: _joined(rows) for key, rows in self._rows.items()}

    def after(self, parcel: Parcel) -> list[tuple[list[int], int]]:
        """Positions, and where in the parcel the lengths of their changes and of their weights will be."""
        out = []
        for key, rows in self._rows.items():
            before, sizes = self._copies[key], [seen.numel() for _, seen in rows]
            parts = [*(_joined(rows) - before).split(sizes), *before.split(sizes)]
            lengths = functions.foreach_norm(parts, 2, dtype=torch.float64)
            out.append(([position for position, _ in rows], parcel.add(functions.stack(list(lengths)))))
        return out


def _joined(rows: list[tuple[int, Tensor]]) -> Tensor:
    """A copy of all, in one go."""
    return functions.cat([seen for _, seen in rows])


def ratios(places: list[tuple[list[int], int]], parcel: Parcel) -> dict[int, float]:
    out: dict[int, float] = {}
    for positions, place in places:
        numbers = methods.tolist(parcel.take(place))
        for index, position in enumerate(positions):
            length = numbers[len(positions) + index]
            out[position] = numbers[index] / length if length else math.nan
    return out


def _seen(tensor: Tensor) -> Tensor | None:
    """Some of its values, in its own memory."""
    data = getattr(tensor, "_local_tensor", tensor)
    plain = type(data) in (Tensor, torch.nn.Parameter) and data.layout == torch.strided and not data.is_nested
    if not plain or opaque(data) or data.is_meta or data.is_inference() or not data.is_floating_point():
        return None
    if data.device.type not in ("cpu", "cuda") or not data.numel():
        return None
    data = methods.detach(data)
    values = flat(data)
    if values.data_ptr() != data.data_ptr():
        return None  # Its values do not lie in a row; a copy would not see the step.
    return values[:: -(-values.numel() // COMPARED)]
