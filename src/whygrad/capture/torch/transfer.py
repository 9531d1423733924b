"""Numbers on their way from a device to here, without anybody waiting for them."""

from __future__ import annotations

from typing import Any

import torch

from whygrad.capture.torch import functions

Tensor = torch.Tensor


class Parcel:
    """Tensors handed in now and read when they have arrived; on the CPU that is at once."""

    def __init__(self) -> None:
        self._tensors: list[Tensor] = []
        self._arrivals: list[Any] = []
        self._timers: list[tuple[Any, Any]] = []

    def add(self, tensor: Tensor) -> int:
        """The place under which it can be taken out later."""
        self._tensors.append(tensor)
        return len(self._tensors) - 1

    def time(self, start: Any) -> None:
        """Device time from an event until now counts as ours."""
        end = torch.cuda.Event(enable_timing=True)
        end.record()
        self._timers.append((start, end))

    def send(self) -> None:
        for place, tensor in enumerate(self._tensors):
            if not tensor.is_cuda:
                continue
            with torch.cuda.device(tensor.device):
                host = functions.empty(tensor.shape, dtype=tensor.dtype, device="cpu", pin_memory=True)
                host.copy_(tensor, non_blocking=True)
                arrival = torch.cuda.Event()
                arrival.record()
            self._tensors[place] = host
            self._arrivals.append(arrival)

    def arrived(self) -> bool:
        return all(arrival.query() for arrival in self._arrivals)

    def wait(self) -> None:
        """Only at the very end of the run."""
        for arrival in self._arrivals:
            arrival.synchronize()

    def take(self, place: int) -> Tensor:
        return self._tensors[place]

    def seconds(self) -> float:
        """Time that the device spent on the statistics."""
        return sum(float(start.elapsed_time(end)) for start, end in self._timers) / 1000.0


def timer(cuda: bool) -> Any:
    """The beginning of work on the current device, to be handed to `Parcel.time`."""
    if not cuda:
        return None
    start = torch.cuda.Event(enable_timing=True)
    start.record()
    return start
