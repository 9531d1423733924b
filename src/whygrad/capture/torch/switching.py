"""`train()` and `eval()`: who switched which parameters' modules, and when."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from whygrad.capture import detours, frames, standins
from whygrad.capture.clock import Clock
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.search import is_a
from whygrad.capture.torch import modules
from whygrad.capture.torch.parameters import Parameters
from whygrad.trace import Switch

PER_PLACE = 6
"""Calls of one place that are noted: acting code may switch at every step of an environment."""
STOCHASTIC = (torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._BatchNorm)


class Switching:
    """Notes mode switches of modules that behave differently in the two modes."""

    def __init__(self, parameters: Parameters, guard: Guard, clock: Clock) -> None:
        self.parameters = parameters
        self.guard = guard
        self.clock = clock
        self.switches: list[Switch] = []
        self.updates: Callable[[], int] = lambda: 0
        self.on_eval: Callable[[torch.nn.Module], None] = lambda _: None
        self._inside = False
        self._counts: dict[Any, int] = {}

    def attach(self, always: Detours) -> None:
        always.set(torch.nn.Module, "train", self._training)

    def _training(self, original: Function) -> Function:
        def train(module: Any, mode: Any) -> Any:
            frame = detours.caller()
            if self._inside:
                return standins.call(original, (module, mode), {}, frame)
            self._inside = True
            try:
                result = standins.call(original, (module, mode), {}, frame)
            finally:
                self._inside = False
            if frame.f_code is torch.nn.Module.eval.__code__ and frame.f_back is not None:
                frame = frame.f_back
            self.guard(lambda: self._switched(module, bool(mode), frame), "modes")
            return result

        return train

    def _switched(self, module: torch.nn.Module, training: bool, frame: FrameType) -> None:
        key = (frame.f_code, frame.f_lasti, id(module))
        count = self._counts.get(key, 0)
        self._counts[key] = count + 1
        if count >= PER_PLACE or not any(is_a(m, STOCHASTIC) for _, m in modules.named_submodules(module)):
            return
        found = (self.parameters.find(p) for p in modules.parameters(module))
        numbers = frozenset(known.number for known in found if known is not None)
        site = frames.user_site(frame)
        self.switches.append(Switch(site, numbers, training, self.clock.tick(), self.updates()))
        if not training:
            self.on_eval(module)
