"""Statistics of many gradients at once. On a GPU nothing here waits for the device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from whygrad.capture.torch import functions, methods
from whygrad.capture.torch.unheard import opaque
from whygrad.telemetry.histogram import BINS, LOWEST, Histogram
from whygrad.telemetry.record import Gradient

Tensor = torch.Tensor
BINNED = 32_768
"""Values of a gradient that go into its histogram; of a larger one so many at equal distances."""
CHUNK = 16_384
"""Values whose squares are summed in float32. Longer sums drift: 1.6 million were off by 2e-5 on a CPU."""
WIDTH = 1025
"""The first ten bits of a float32 (sign, exponent, half), and one place for exact zeros."""
ZERO = 1024
EXTREME = 1e-15
"""Squares of values below this, or above its inverse, may leave the range of float32."""


@dataclass(slots=True)
class Numbers:
    """What was measured of one list of values, before it is anybody's gradient."""

    norm: float
    largest: float
    zeros: float
    nonfinite: float
    codes: dict[int, int]

    def gradient(self, size: int, stored: int, scale: float = 1.0) -> Gradient:
        """As shares of the whole; what a sparse gradient does not store is zero."""
        size = max(size, 1)
        histogram = decoded(self.codes, self.nonfinite > 0)
        histogram.zeros += size - stored
        if scale != 1.0:
            histogram = _rescaled(histogram, scale)
        zeros = (self.zeros + size - stored) / size
        return Gradient(self.norm / scale, self.largest / scale, zeros, self.nonfinite / size, size, histogram)


def values(grad: Tensor) -> Tensor | str:
    """The numbers of a gradient, flat and detached; or why they cannot be read."""
    if hasattr(grad, "_local_tensor"):  # A collective on one sampled rank would wait for the others for ever.
        grad = grad._local_tensor
    if grad.is_sparse:
        if grad.is_cuda and not grad.is_coalesced():
            return "sparse gradients on a GPU are not measured: adding up duplicates would wait for the device"
        grad = grad.coalesce().values()
    if type(grad) not in (Tensor, torch.nn.Parameter) or grad.layout != torch.strided or grad.is_nested:
        return f"gradients of type {type(grad).__name__} are not measured"
    if opaque(grad):
        return "gradients whose memory was freed are not measured"
    if grad.is_meta or grad.is_inference() or not grad.is_floating_point():
        return "gradients that are meta, inference or complex tensors are not measured"
    if grad.device.type not in ("cpu", "cuda"):
        return f"gradients on {grad.device.type} are not measured"
    return flat(methods.detach(grad))


def flat(tensor: Tensor) -> Tensor:
    """All values in a row, without a copy wherever they lie without gaps, in whatever order."""
    if not tensor.is_contiguous() and torch.ops.aten.is_non_overlapping_and_dense(tensor):
        return tensor.as_strided((tensor.numel(),), (1,))
    return tensor.reshape(-1)


def measure_here(tensors: list[Tensor]) -> list[Numbers]:
    """On the CPU, read at once."""
    codes = _used(_coded(tensors), len(tensors))
    norms, out = norms_here(tensors), []
    for tensor, norm, row in zip(tensors, norms, codes, strict=True):
        low, high = (methods.number(x) for x in functions.aminmax(tensor)) if tensor.numel() else (0.0, 0.0)
        largest = max(abs(low), abs(high))
        if math.isfinite(largest) and (norm == math.inf or 0 < largest < EXTREME):
            norm = methods.number(functions.vector_norm(tensor, dtype=torch.float64))
        if _whole(tensor):
            zeros = row.get(ZERO, 0)
            nonfinite = 0 if math.isfinite(largest) else sum(row.get(c, 0) for c in _NONFINITE)
        else:
            zeros = tensor.numel() - methods.whole(functions.count_nonzero(tensor))
            nonfinite = 0 if math.isfinite(largest) else methods.whole(functions.count_nonzero(tensor * 0))
        out.append(Numbers(norm, largest, zeros, nonfinite, row))
    return out


def measure_there(tensors: list[Tensor]) -> Tensor:
    """On a GPU: everything in one flat tensor of int32, to be copied and decoded later."""
    rows = functions.stack([norm for order in (2, math.inf, 0) for norm in _foreach(tensors, order)])
    return functions.cat([rows.view(torch.int32), _coded(tensors).int()])


def norms_there(tensors: list[Tensor]) -> Tensor:
    return lengths_there(tensors).view(torch.int32)


def lengths_there(tensors: list[Tensor], order: float = 2) -> Tensor:
    return functions.stack(_foreach(tensors, order))


def decode(read: Tensor, sizes: list[int]) -> list[Numbers]:
    """What `measure_there` packed. How many values are not finite is known of the binned ones only; counting them
    all would take four more launches per tensor."""
    count = len(sizes)
    numbers = methods.tolist(read[: 6 * count].view(torch.float64).view(3, count))
    codes = _used(read[6 * count :], count)
    out = []
    for norm, largest, nonzero, size, row in zip(*numbers, sizes, codes, strict=True):
        nonfinite = 0.0
        if not math.isfinite(largest):
            strange = sum(row.get(c, 0) for c in _NONFINITE)
            nonfinite = max(strange * size / max(sum(row.values()), 1), 1.0)
        out.append(Numbers(norm, largest, size - nonzero, nonfinite, row))
    return out


def decode_norms(read: Tensor) -> list[float]:
    return list(methods.tolist(read.view(torch.float64)))


def decoded(codes: dict[int, int], nonfinite: bool) -> Histogram:
    """From the first bits of floats to bins."""
    histogram = Histogram()
    counts = histogram.counts
    for code, count in codes.items():
        if code == ZERO:
            histogram.zeros = count
        elif nonfinite and code in _NONFINITE:
            histogram.nonfinite += count
        else:
            place = _PLACES[code]
            counts[place] = counts.get(place, 0) + count
    return histogram


def _place(code: int) -> int:
    place = min(max((code & 0x1FF) - 2 * (127 + LOWEST), 0), BINS - 1) + 1
    return -place if code & 0x200 else place


def _used(counts: Tensor, tensors: int) -> list[dict[int, int]]:
    """Codes that occur, by tensor: a few dozen of a thousand."""
    places = counts.nonzero().flatten()
    out: list[dict[int, int]] = [{} for _ in range(tensors)]
    for place, count in zip(methods.tolist(places), methods.tolist(counts[places]), strict=True):
        out[place // WIDTH][place % WIDTH] = count
    return out


_PLACES = [_place(code) for code in range(ZERO)]
_NONFINITE = (0x1FE, 0x1FF, 0x3FE, 0x3FF)


def _rescaled(histogram: Histogram, scale: float) -> Histogram:
    """Divided by a gradient scaler's factor: a power of two moves bins by whole octaves, others by the nearest."""
    shift = round(2 * math.log2(scale))
    moved = Histogram(zeros=histogram.zeros, nonfinite=histogram.nonfinite)
    for place, count in histogram.counts.items():
        new = min(max(abs(place) - shift, 1), BINS)
        new = new if place > 0 else -new
        moved.counts[new] = moved.counts.get(new, 0) + count
    return moved


def _whole(tensor: Tensor) -> bool:
    """Whether the codes count every value, and exactly: a double may become zero or infinite as a float."""
    return tensor.numel() <= BINNED and tensor.dtype != torch.float64


def norms_here(tensors: list[Tensor], order: int = 2) -> list[float]:
    """Of the second order, or of the first: the sum of the magnitudes."""
    chunks = [list(tensor.split(CHUNK)) if tensor.numel() > CHUNK else [tensor] for tensor in tensors]
    parts = iter(_read(functions.foreach_norm([c for several in chunks for c in several], order, dtype=_wide(tensors))))
    together = [[next(parts) for _ in several] for several in chunks]
    return [math.hypot(*lengths) if order == 2 else math.fsum(lengths) for lengths in together]


def _read(scalars: list[Tensor] | tuple[Tensor, ...]) -> Iterator[float]:
    yield from methods.tolist(functions.stack(list(scalars)))


def _wide(tensors: list[Tensor]) -> torch.dtype:
    return torch.float64 if any(t.dtype == torch.float64 for t in tensors) else torch.float32


def _foreach(tensors: list[Tensor], order: float) -> list[Tensor]:
    return list(functions.foreach_norm(tensors, order, dtype=torch.float64))


def _coded(tensors: list[Tensor]) -> Tensor:
    """Counts of the codes of all tensors, one row of WIDTH after the other."""
    samples = [(t[:: -(-t.numel() // BINNED)] if t.numel() > BINNED else t).float() for t in tensors]
    joined = functions.cat(samples)
    codes = (joined.view(torch.int32) >> 22) & 0x3FF
    codes.masked_fill_(joined == 0, ZERO)
    sizes = [s.numel() for s in samples]
    codes += _offsets(sizes, joined.device)
    if joined.device.type == "cpu":
        return functions.bincount(codes, minlength=WIDTH * len(tensors))
    # bincount waits for the device to learn its own size.
    counts = functions.zeros(WIDTH * len(tensors), dtype=torch.int32, device=joined.device)
    return counts.scatter_add_(0, codes.long(), functions.ones_like(codes))


def _offsets(sizes: list[int], device: torch.device) -> Tensor:
    key = (tuple(sizes), device)
    known = _offset_cache.get(key)
    if known is None:
        if len(_offset_cache) >= MOST_OFFSETS:
            _offset_cache.clear()
        starts = functions.arange(len(sizes), dtype=torch.int32) * WIDTH
        known = functions.repeat_interleave(starts, functions.tensor(sizes))
        if device.type != "cpu":
            known = known.pin_memory().to(device, non_blocking=True)
        _offset_cache[key] = known
    return known


MOST_OFFSETS = 16
_offset_cache: dict[tuple[tuple[int, ...], torch.device], Tensor] = {}
