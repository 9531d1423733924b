"""The gradients of one optimizer at one moment."""

from __future__ import annotations

import math
import weakref

import torch

from whygrad.capture.torch import methods, statistics
from whygrad.capture.torch.parameters import Known
from whygrad.capture.torch.statistics import Numbers
from whygrad.capture.torch.transfer import Parcel, timer
from whygrad.telemetry.record import Gradient

Tensor = torch.Tensor
Tensors = list[tuple[Known, Tensor]]


class Marks:
    """Which gradients stand, by identity and version. Weak: a freed gradient's address is soon another's."""

    def __init__(self, tensors: Tensors) -> None:
        self._marks = [_mark(methods.gradient(tensor)) for _, tensor in tensors]

    def stand(self, tensors: Tensors) -> bool:
        """Whether no gradient has come, gone or been written since."""
        if len(tensors) != len(self._marks):
            return False
        for mark, (_, tensor) in zip(self._marks, tensors, strict=True):
            grad = methods.gradient(tensor)
            if mark is None or grad is None:
                if (mark is None) != (grad is None):
                    return False
            elif mark[0]() is not grad or mark[1] != _version(grad):
                return False
        return True


def _mark(grad: Tensor | None) -> tuple[weakref.ref[Tensor], int] | None:
    return (weakref.ref(grad), _version(grad)) if grad is not None else None


def _version(grad: Tensor) -> int:
    return -1 if grad.is_inference() else grad._version


class Measurement:
    """Statistics by position in the optimizer: here already, or in a parcel."""

    def __init__(self, tensors: Tensors, parcel: Parcel, *, only_norms: bool = False) -> None:
        self.marks = Marks(tensors)
        self.skipped: set[str] = set()
        self.sizes: dict[int, tuple[int, int]] = {}
        """Values of the gradient, and how many of them are stored."""
        self._only_norms = only_norms
        self._here: dict[int, Numbers | float] = {}
        self._there: list[tuple[list[int], int]] = []
        for device, rows in self._by_device(tensors).items():
            self._measure(device, rows, parcel)

    def _by_device(self, tensors: Tensors) -> dict[torch.device, list[tuple[int, Tensor]]]:
        found: dict[torch.device, list[tuple[int, Tensor]]] = {}
        for position, (_, tensor) in enumerate(tensors):
            grad = methods.gradient(tensor)
            if grad is None:
                continue
            flat = statistics.values(grad)
            if isinstance(flat, str):
                self.skipped.add(flat)
                continue
            self.sizes[position] = (grad.numel() if grad.is_sparse else flat.numel(), flat.numel())
            found.setdefault(flat.device, []).append((position, flat))
        return found

    def _measure(self, device: torch.device, rows: list[tuple[int, Tensor]], parcel: Parcel) -> None:
        positions, flats = [position for position, _ in rows], [flat for _, flat in rows]
        if device.type == "cpu":
            measured = statistics.norms_here(flats) if self._only_norms else statistics.measure_here(flats)
            self._here.update(zip(positions, measured, strict=True))
            return
        with torch.cuda.device(device):
            start = timer(True)
            packed = statistics.norms_there(flats) if self._only_norms else statistics.measure_there(flats)
            self._there.append((positions, parcel.add(packed)))
            parcel.time(start)

    @property
    def local(self) -> bool:
        """Whether everything is known already."""
        return not self._there

    def numbers(self, parcel: Parcel) -> dict[int, Numbers]:
        out = {position: found for position, found in self._here.items() if isinstance(found, Numbers)}
        for positions, place in self._there:
            if not self._only_norms:
                sizes = [self.sizes[position][1] for position in positions]
                out.update(zip(positions, statistics.decode(parcel.take(place), sizes), strict=True))
        return out

    def norms(self, parcel: Parcel) -> dict[int, float]:
        if not self._only_norms:
            return {position: found.norm for position, found in self.numbers(parcel).items()}
        out = {position: found for position, found in self._here.items() if isinstance(found, float)}
        for positions, place in self._there:
            out.update(zip(positions, statistics.decode_norms(parcel.take(place)), strict=True))
        return out

    def agrees(self, other: Measurement, parcel: Parcel) -> bool:
        """Whether the norms are the same. Versions do not show writes through `.data`."""
        mine, theirs = self.norms(parcel), other.norms(parcel)
        return mine.keys() == theirs.keys() and all(_same(mine[n], theirs[n]) for n in mine)

    def gradients(self, parcel: Parcel, scale: float = 1.0) -> dict[int, Gradient]:
        return {n: found.gradient(*self.sizes[n], scale) for n, found in self.numbers(parcel).items()}


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-6) or (not math.isfinite(a) and not math.isfinite(b))
