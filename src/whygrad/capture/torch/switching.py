"""`train()` and `eval()`: who switched which parameters' modules, and when."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from whygrad.capture import frames
from whygrad.capture.clock import Clock
from whygrad.capture.guard import Guard
from whygrad.capture.patches import Patches
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

    def patch(self, patches: Patches) -> None:
        original = torch.nn.Module.train

        def train(module: Any, mode: bool = True) -> Any:
            if self._inside:
                return original(module, mode)
            self._inside = True
            try:
                result = original(module, mode)
            finally:
                self._inside = False
            frame = sys._getframe(1)
            if frame.f_code is torch.nn.Module.eval.__code__ and frame.f_back is not None:
                frame = frame.f_back
            self.guard(lambda: self._switched(module, bool(mode), frame), "train")
            return result

        patches.set(torch.nn.Module, "train", train)

    def _switched(self, module: torch.nn.Module, training: bool, frame: FrameType) -> None:
        key = (frame.f_code, frame.f_lasti, id(module))
        count = self._counts.get(key, 0)
        self._counts[key] = count + 1
        if count >= PER_PLACE or not any(isinstance(m, STOCHASTIC) for m in module.modules()):
            return
        found = (self.parameters.find(p) for p in module.parameters())
        numbers = frozenset(known.number for known in found if known is not None)
        site = frames.user_site(frame)
        self.switches.append(Switch(site, numbers, training, self.clock.tick(), self.updates()))
        if not training:
            self.on_eval(module)
