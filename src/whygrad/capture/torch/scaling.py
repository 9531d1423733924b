"""Gradient scalers: what they multiplied the gradients by, so that raw gradients can be given without it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from whygrad.capture import detours, frames, standins
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.search import attribute
from whygrad.capture.torch import methods
from whygrad.trace import Scaler, Site

Tensor = torch.Tensor


@dataclass
class Met:
    """A scaler that was asked to scale a loss."""

    ref: weakref.ref[Any]
    start: float
    backoff: float
    site: Site | None
    factor: Tensor | None = None
    """One number, which the scaler changes in place; it outlives the scaler, to be read at the end."""
    calls: int = 0
    stepped: bool = False
    enabled: bool = True


class Scaling:
    """Remembers scalers, and the one that was last asked to scale a loss."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self._met: list[Met] = []
        self._latest: Met | None = None
        self.on_scaled: Callable[[bool], None] = lambda _: None
        """Whether gradients carry a scaler's factor from now on."""

    def attach(self, always: Detours) -> None:
        always.set(torch.amp.GradScaler, "scale", self._scaling)

    def follow(self, during: Detours) -> None:
        """While tracing: where the scaler steps is where it leaves steps out."""
        during.set(torch.amp.GradScaler, "unscale_", self._dividing)
        during.set(torch.amp.GradScaler, "step", self._dividing)

    def _scaling(self, original: Function) -> Function:
        def scale(scaler: Any, outputs: Any) -> Any:
            frame = detours.caller()
            latest = self._latest
            if latest is None or latest.ref() is not scaler:
                latest = self._latest = self.guard(lambda: self._meet(scaler, frame), "scaler")
            if latest is not None:
                latest.calls += 1
                self.on_scaled(latest.enabled)
            return standins.call(original, (scaler, outputs), {}, frame)

        return scale

    def _dividing(self, original: Function) -> Function:
        def divide(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            frame = detours.caller()
            self.on_scaled(False)
            if original.__name__ == "step":
                self.guard(lambda: self._stepping(scaler, frame), "scaler")
            return standins.call(original, (scaler, *args), kwargs, frame)

        return divide

    def _meet(self, scaler: Any, frame: FrameType) -> Met:
        known = next((met for met in self._met if met.ref() is scaler), None)
        if known is None:
            # One that is switched off has no numbers, and passes losses on as they are.
            start, backoff = float(getattr(scaler, "_init_scale", 0.0)), float(getattr(scaler, "_backoff_factor", 0.0))
            known = Met(weakref.ref(scaler), start, backoff, frames.user_site(frame))
            known.enabled = bool(scaler.is_enabled())
            self._met.append(known)
        return known

    def _stepping(self, scaler: Any, frame: FrameType) -> None:
        for met in self._met:
            if met.ref() is scaler:
                met.factor = getattr(scaler, "_scale", None)
                if not met.stepped:
                    met.stepped, met.site = True, frames.user_site(frame) or met.site

    def seen(self) -> list[Scaler]:
        """At the end of the run, when nobody minds waiting for the device."""
        out = []
        for met in self._met:
            scaler = met.ref()
            factor = getattr(scaler, "_scale", None) if scaler is not None else met.factor
            if isinstance(factor, Tensor):
                out.append(Scaler(met.site, met.start, methods.number(factor), met.backoff, met.calls))
        return out

    def standing(self, optimizer: Any) -> Tensor | str | None:
        """The factor in the gradients of an optimizer right after a backward; a word where it cannot be known."""
        scaler = self._latest.ref() if self._latest is not None else None
        if scaler is None or not scaler.is_enabled():
            return None
        states = getattr(scaler, "_per_optimizer_states", {})
        stage = states[id(optimizer)]["stage"] if id(optimizer) in states else None
        if stage is not None and stage.name == "UNSCALED":
            return None
        factor = getattr(scaler, "_scale", None)
        if not isinstance(factor, Tensor):
            return "raw gradients carry a gradient scaler's factor, which is not known"
        return methods.double(methods.detach(factor)).reshape(1)

    @staticmethod
    def inside(optimizer: Any) -> Tensor | None:
        """The factor that a fused optimizer will divide by itself."""
        factor = attribute(optimizer, "grad_scale")
        return methods.double(methods.detach(factor)).reshape(1) if isinstance(factor, Tensor) else None
