"""Names in the user's words: found through the variables and attributes that hold the modules."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch

from whygrad.capture import frames
from whygrad.capture.search import DEEPEST, PLAIN, Search, attributes, is_a, members
from whygrad.capture.torch import modules
from whygrad.capture.torch.aliasing import Aliasing
from whygrad.capture.torch.parameters import Parameters

MOST_LOOKS = 64
"""From one function; from there on only after twice as many, or where a parameter has come that has no name."""


class Naming(Search):
    """Collects the best name of each parameter; a path through variables beats one through `self`."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__()
        self.parameters = parameters
        self.optimizers: dict[int, str] = {}
        self.aliasing = Aliasing(parameters)
        self._nameless = 0
        self._looks: dict[int, int] = {}
        """By function."""
        self._rank: dict[int, tuple[bool, bool, int, int, str]] = {}
        self._optimizer_rank: dict[int, tuple[bool, int, int, str]] = {}

    def due(self, frame: FrameType | None) -> bool:
        """Whether to look from a function again, for a new loss or optimizer. A script with a thousand losses
        in one function has thousands of variables, and to go through all of them for each would take minutes."""
        code = frames.locate(frame)[0]  # Not the frame's own: what stands in for it is made anew for each call.
        looks = self._looks[id(code)] = self._looks.get(id(code), 0) + 1
        return looks <= MOST_LOOKS or looks & (looks - 1) == 0

    def wanted(self) -> bool:
        """Parameters have come since the last look, and one may have a name by now."""
        nameless = sum(not known.name for known in self.parameters.known_list)
        changed, self._nameless = nameless > self._nameless, nameless
        return changed

    def _visit(self, path: str, value: Any, depth: int, seen: dict[int, int]) -> None:
        if is_a(value, PLAIN) or depth > DEEPEST:
            return
        if is_a(value, torch.Tensor):
            self._name(path, path, value, depth, bare=True)
            return
        if is_a(value, torch.nn.Module) and path not in self._arguments:
            self.aliasing.saw(path, value)
        if seen.get(id(value), depth + 1) <= depth:
            return
        seen[id(value)] = depth
        if is_a(value, torch.nn.Module):
            self._module(path, value, depth, seen)
        elif is_a(value, torch.optim.Optimizer):
            self._optimizer(path, value, depth)
        else:
            for inner, item in members(value):
                self._visit(path + inner, item, depth + 1, seen)

    def _module(self, path: str, module: torch.nn.Module, depth: int, seen: dict[int, int]) -> None:
        for name, parameter in modules.named_parameters(module):
            self._name(f"{path}.{name}", path, parameter, depth)
        for name, child in modules.named_submodules(module):
            if name and "." not in name:
                self.aliasing.saw(f"{path}.{name}", child)
            for attribute, item in list(attributes(child).items()):
                if not attribute.startswith("_") and (not name or is_a(item, (list, tuple, dict))):
                    self._visit(f"{path}.{name}.{attribute}" if name else f"{path}.{attribute}", item, depth + 1, seen)

    def _name(self, name: str, module: str, tensor: torch.Tensor, depth: int, *, bare: bool = False) -> None:
        """Bare: a variable that is the tensor itself, such as the `p` of a loop. A module's name says more."""
        known = self.parameters.find(tensor)
        if known is None:
            return
        rank = (name.startswith("self"), bare, self._level, depth, name)
        if known.number not in self._rank or rank < self._rank[known.number]:
            self._rank[known.number] = rank
            known.name = name.removeprefix("self.")
            known.module = module.removeprefix("self.")

    def _optimizer(self, path: str, optimizer: torch.optim.Optimizer, depth: int) -> None:
        rank = (path.startswith("self"), self._level, depth, path)
        if id(optimizer) not in self._optimizer_rank or rank < self._optimizer_rank[id(optimizer)]:
            self._optimizer_rank[id(optimizer)] = rank
            self.optimizers[id(optimizer)] = path.removeprefix("self.")


def enclosing_modules(frame: FrameType | None) -> tuple[torch.nn.Module, ...]:
    """Modules whose forward is running here, innermost first."""
    found: list[Any] = []
    while frame is not None:
        if frame.f_code.co_name == "forward" or frame.f_code.co_argcount:
            owner = frames.variables(frame).get("self")
            if is_a(owner, torch.nn.Module) and "_parameters" in attributes(owner):  # Its constructor has begun.
                found += [owner] if not any(owner is f for f in found) else []
        frame = frame.f_back
    return tuple(found)
