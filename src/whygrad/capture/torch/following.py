"""Whether values that have moved once still do: of trained networks, and of those that follow them."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from whygrad.capture.torch import functions, methods
from whygrad.capture.torch.parameters import Known, Parameters
from whygrad.capture.torch.transfer import Parcel

Tensor = torch.Tensor


class Following:
    """Samples of their values at one look, compared with those at the next."""

    def __init__(self, parameters: Parameters, sample: Callable[[Tensor], Tensor | None]) -> None:
        self.parameters = parameters
        self._sample = sample
        self._latest: dict[int, Tensor] = {}
        self._look = 0
        """The update of the latest look."""
        self._late: list[tuple[Parcel, list[Known], int, int]] = []
        """Comparisons on their way from a device, oldest first, with the updates between which they were made."""

    def look(self, updates: int) -> None:
        pairs: dict[torch.device, list[tuple[Known, Tensor, Tensor]]] = {}
        for known in self.parameters.known_list:
            tensor = known.ref() if known.used and known.moved else None
            now = self._sample(tensor) if tensor is not None else None
            if now is None:
                continue
            before, self._latest[known.number] = self._latest.get(known.number), now
            if before is not None and (before.shape, before.device) == (now.shape, now.device):
                pairs.setdefault(now.device, []).append((known, before, now))
        for found in pairs.values():
            changes = functions.foreach_sub([now for _, _, now in found], [before for _, before, _ in found])
            parcel = Parcel()
            parcel.add(functions.stack(list(functions.foreach_norm(changes, math.inf))))
            parcel.send()
            self._late.append((parcel, [known for known, _, _ in found], self._look, updates))
        self._look = updates

    def collect(self, *, wait: bool = False) -> None:
        while self._late and (wait or self._late[0][0].arrived()):
            parcel, knowns, start, end = self._late.pop(0)
            parcel.wait()
            for known, distance in zip(knowns, methods.tolist(parcel.take(0)), strict=True):
                if distance != 0:
                    known.changes.seen(start, end)
