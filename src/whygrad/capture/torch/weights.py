"""Whether values move: under a step, and in networks that no optimizer holds."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from whygrad.capture.torch import functions, methods
from whygrad.capture.torch.finiteness import Finiteness, readable
from whygrad.capture.torch.following import Following
from whygrad.capture.torch.parameters import Known, Parameters
from whygrad.capture.torch.transfer import Parcel
from whygrad.capture.torch.unheard import NoFunctions, NoHistory, NoOperations, opaque

Tensor = torch.Tensor
SAMPLED = 256
"""Values per parameter that are remembered of a network no optimizer holds."""
WHOLE = 65_536
"""Parameters up to this size are compared whole around a step; of larger ones what the gradient moves most."""
FIRST_LOOK = 4
LATER = 1.25
"""Looks become rarer as the run goes on; the last one lies at most a fifth of the run before its end."""
ROUNDING = 1e-5
HALF = (torch.bfloat16, torch.float16)


class Before(NamedTuple):
    """A parameter with a gradient that is not zero, just before a step."""

    number: int
    tensor: Tensor
    values: Tensor
    where: Tensor | None
    """The places of these values; None: all of them."""


class Weights:
    """Samples of the values, compared now and then."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.finiteness = Finiteness(parameters)
        self._first: dict[int, tuple[Tensor | None, int, int]] = {}
        """First values, the updates there had been by then, and the version of the tensor."""
        self._updates = 0
        self._begun = False
        self._next = FIRST_LOOK
        self.following = Following(parameters, _sample)
        self._late: list[tuple[Parcel, list[tuple[Known, bool]], int]] = []
        """Comparisons on their way from a device, oldest first."""

    def used(self, known: Known) -> None:
        """A network came into use after training had begun."""
        if self._begun:
            self._remember(known)

    def begin(self, updates: int) -> None:
        """The first step: from here on whoever changes is being trained or refreshed."""
        self._updates = updates
        if not self._begun:
            self._begun = True
            for known in self.parameters.known_list:
                self._remember(known)

    def due(self, updates: int) -> bool:
        return updates >= self._next

    def look(self, updates: int, held: set[int]) -> None:
        self._next = max(self._next, int(updates * LATER), updates + 1)
        self._collect()
        pairs: dict[torch.device, list[tuple[Known, Tensor, Tensor, bool]]] = {}
        for known in self.parameters.known_list:
            if not known.used or (known.moved and known.number not in held):
                continue
            (before, _, version), tensor = self._first.get(known.number, (None, 0, 0)), known.ref()
            now = _sample(tensor) if tensor is not None and before is not None else None
            if now is not None and before is not None and tensor is not None:
                written = tensor._version > version
                if before.shape != now.shape or before.device != now.device:
                    self._conclude(known, 1.0, updates, written)
                else:
                    pairs.setdefault(now.device, []).append((known, before, now, written))
        for found in pairs.values():
            self._send(found, updates)
        self.following.look(updates)
        self.finiteness.look(held)
        self._collect()
        self.parameters.find_shared()

    def _send(self, pairs: list[tuple[Known, Tensor, Tensor, bool]], updates: int) -> None:
        """Compare all at once where they live; a device's answer is read at a later look."""
        befores = [before for _, before, _, _ in pairs]
        changes = functions.foreach_sub([now for _, _, now, _ in pairs], befores)
        lengths = [functions.stack(list(functions.foreach_norm(t, math.inf))) for t in (changes, befores)]
        parcel = Parcel()
        parcel.add(functions.stack(lengths))
        parcel.send()
        self._late.append((parcel, [(known, written) for known, _, _, written in pairs], updates))

    def _collect(self, *, wait: bool = False) -> None:
        self.following.collect(wait=wait)
        self.finiteness.collect(wait=wait)
        while self._late and (wait or self._late[0][0].arrived()):
            parcel, knowns, updates = self._late.pop(0)
            parcel.wait()
            distances, sizes = methods.tolist(parcel.take(0))
            for (known, written), distance, size in zip(knowns, distances, sizes, strict=True):
                self._conclude(known, distance / max(size, 1e-12), updates, written)

    def _conclude(self, known: Known, shift: float, updates: int, written: bool) -> None:
        _, since, _ = self._first[known.number]
        known.shift, known.moved = shift, not shift <= ROUNDING
        known.vain = known.consumed if shift == 0.0 else 0
        known.still = 0 if known.moved else updates - since
        known.rewritten = not known.moved and written

    def finish(self, updates: int, held: set[int]) -> None:
        """The last look, at the end of the run, also where no optimizer stepped: now the device may be waited for."""
        self.look(updates, held)
        self._collect(wait=True)

    def _remember(self, known: Known) -> None:
        tensor = known.ref()
        if tensor is not None and known.number not in self._first:
            version = 0 if tensor.is_inference() else tensor._version
            self._first[known.number] = _sample(tensor), self._updates, version
            known.sampled = tensor.numel() > SAMPLED

    def before_step(self, tensors: list[tuple[Known, Tensor]]) -> list[Before]:
        """What a step is about to change."""
        out = []
        for known, tensor in tensors:
            grad = methods.gradient(tensor)
            if grad is None or grad.is_sparse or opaque(grad) or not readable(tensor):
                continue
            if not methods.true(methods.any_of(grad)):
                continue
            where = None
            if tensor.numel() > WHOLE:
                where = methods.absolute(grad.reshape(-1)).topk(16).indices
            out.append(Before(known.number, tensor, methods.clone(_at(tensor, where)), where))
        return out

    def stayed(self, before: list[Before]) -> frozenset[int]:
        """Those that the step has not moved."""
        return frozenset(n for n, tensor, values, where in before if functions.equal(_at(tensor, where), values))

    def rounded_away(self, before: list[Before]) -> float | None:
        """Of weights in half precision that had a gradient: the share that the step left as they were."""
        kept = moved = 0
        for _, tensor, values, where in before:
            grad = methods.gradient(tensor)
            if tensor.dtype in HALF and grad is not None:
                wanted = _at(grad, where) != 0
                still = (_at(tensor, where) == values) & wanted
                kept, moved = kept + methods.whole(still.sum()), moved + methods.whole(wanted.sum())
        return kept / moved if moved else None


def _at(tensor: Tensor, where: Tensor | None) -> Tensor:
    flat = methods.detach(tensor).reshape(-1)
    return flat if where is None else flat[where]


def _sample(tensor: Tensor) -> Tensor | None:
    if not readable(tensor):
        return None
    with NoFunctions(), NoOperations(), NoHistory():
        flat = methods.detach(functions.view_as_real(tensor) if tensor.is_complex() else tensor).reshape(-1)
        if tensor.device.type not in ("cpu", "cuda"):
            flat = methods.cpu(flat)  # Not every device knows doubles.
        # A copy in any case: a slice of weights that are doubles already would go along with them.
        return flat[:: max(1, flat.numel() // SAMPLED)][:SAMPLED].to(torch.float64, copy=True)
