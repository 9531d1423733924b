"""Names in the user's words: found through the variables and attributes that hold the modules."""

from __future__ import annotations

import types
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from whygrad.capture.torch import frames
from whygrad.capture.torch.parameters import Parameters

DEEPEST = 4
WIDEST = 24
"""Items of a container that are looked at: modules live near its start."""
_PLAIN = (str, bytes, int, float, complex, bool, type(None), types.ModuleType, types.FunctionType, type)


class Naming:
    """Collects the best name of each parameter; a path through variables beats one through `self`."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.optimizers: dict[int, str] = {}
        self._rank: dict[int, tuple[bool, bool, int, str]] = {}
        self._optimizer_rank: dict[int, tuple[bool, int, str]] = {}

    def look(self, frame: FrameType | None) -> None:
        """Search everything the user's frames can see, from the outermost inwards."""
        stack: list[FrameType] = []
        while frame is not None:
            if frames.kind_of(frame.f_code.co_filename) == frames.USER:
                stack.append(frame)
            frame = frame.f_back
        seen: dict[int, int] = {}
        if stack:
            self._scope(stack[-1].f_globals, seen)
        for user in reversed(stack):
            self._scope(user.f_locals, seen)

    def _scope(self, variables: dict[str, Any], seen: dict[int, int]) -> None:
        for name, value in list(variables.items()):
            if not name.startswith("__"):
                self._visit(name, value, 0, seen)

    def _visit(self, path: str, value: Any, depth: int, seen: dict[int, int]) -> None:
        if isinstance(value, _PLAIN) or depth > DEEPEST:
            return
        if isinstance(value, torch.Tensor):
            self._name(path, path, value, depth, bare=True)
            return
        before = seen.get(id(value))
        if before is not None and before <= depth and not path.count("."):
            return
        if before is not None and path.count(".") and before <= depth:
            return
        seen[id(value)] = depth
        if isinstance(value, torch.nn.Module):
            self._module(path, value, depth, seen)
        elif isinstance(value, torch.optim.Optimizer):
            self._optimizer(path, value, depth)
        else:
            for inner, item in _members(value):
                self._visit(path + inner, item, depth + 1, seen)

    def _module(self, path: str, module: torch.nn.Module, depth: int, seen: dict[int, int]) -> None:
        for name, parameter in module.named_parameters(remove_duplicate=False):
            self._name(f"{path}.{name}", path, parameter, depth)
        for name, item in list(vars(module).items()):
            if not name.startswith("_"):
                self._visit(f"{path}.{name}", item, depth + 1, seen)
        for name, child in module.named_modules():
            if name:
                for attribute, item in list(vars(child).items()):
                    if not attribute.startswith("_") and isinstance(item, (list, tuple, dict)):
                        self._visit(f"{path}.{name}.{attribute}", item, depth + 1, seen)

    def _name(self, name: str, module: str, tensor: torch.Tensor, depth: int, *, bare: bool = False) -> None:
        """Bare: a variable that is the tensor itself, such as the `p` of a loop. A module's name says more."""
        known = self.parameters.find(tensor)
        if known is None:
            return
        rank = (name.startswith("self"), bare, depth, name)
        if known.number not in self._rank or rank < self._rank[known.number]:
            self._rank[known.number] = rank
            known.name = name.removeprefix("self.")
            known.module = module.removeprefix("self.")

    def _optimizer(self, path: str, optimizer: torch.optim.Optimizer, depth: int) -> None:
        rank = (path.startswith("self"), depth, path)
        if id(optimizer) not in self._optimizer_rank or rank < self._optimizer_rank[id(optimizer)]:
            self._optimizer_rank[id(optimizer)] = rank
            self.optimizers[id(optimizer)] = path.removeprefix("self.")


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in list(value.items())[:WIDEST]:
            yield f"[{key!r}]", item
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value[:WIDEST]):
            yield f"[{index}]", item
    else:
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict) and not type(value).__module__.startswith(("numpy", "gymnasium", "gym.")):
            for name, item in list(attributes.items())[:200]:
                if not name.startswith("__"):
                    yield f".{name}", item


def enclosing_modules(frame: FrameType | None) -> tuple[torch.nn.Module, ...]:
    """Modules whose forward is running here, innermost first."""
    found: list[torch.nn.Module] = []
    while frame is not None:
        if frame.f_code.co_name == "forward" or frame.f_code.co_argcount:
            owner = frame.f_locals.get("self")
            if isinstance(owner, torch.nn.Module) and not any(owner is f for f in found):
                found.append(owner)
        frame = frame.f_back
    return tuple(found)
