"""Gradient scalers: what they multiplied the gradients by, so that raw gradients can be given without it."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from whygrad.capture.torch.guard import Guard
from whygrad.capture.torch.patches import Patches

Tensor = torch.Tensor


class Scaling:
    """Remembers the scaler that was last asked to scale a loss."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self._scaler: weakref.ref[Any] | None = None

    def patch(self, patches: Patches) -> None:
        scaler = getattr(torch.amp, "GradScaler", None)
        if scaler is None:
            return
        original = scaler.scale

        def scale(self_: Any, *args: Any, **kwargs: Any) -> Any:
            self._scaler = weakref.ref(self_)
            return original(self_, *args, **kwargs)

        patches.set(scaler, "scale", scale)

    def standing(self, optimizer: Any) -> Tensor | str | None:
        """The factor in the gradients of an optimizer right after a backward; a word where it cannot be known."""
        scaler = self._scaler() if self._scaler is not None else None
        if scaler is None or not scaler.is_enabled():
            return None
        states = getattr(scaler, "_per_optimizer_states", {})
        stage = states[id(optimizer)]["stage"] if id(optimizer) in states else None
        if stage is not None and stage.name == "UNSCALED":
            return None
        factor = getattr(scaler, "_scale", None)
        if not isinstance(factor, Tensor):
            return "raw gradients carry a gradient scaler's factor, which is not known"
        return factor.detach().double().reshape(1)

    @staticmethod
    def inside(optimizer: Any) -> Tensor | None:
        """The factor that a fused optimizer will divide by itself."""
        factor = getattr(optimizer, "grad_scale", None)
        return factor.detach().double().reshape(1) if isinstance(factor, Tensor) else None
