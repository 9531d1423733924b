"""Tensor hooks that swallow the gradient: what goes into the user's function is compared with what comes out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from whygrad.capture import frames, standins
from whygrad.capture.frames import Place
from whygrad.capture.guard import Guard
from whygrad.capture.torch import methods
from whygrad.capture.torch.shadow import Node
from whygrad.capture.torch.unheard import opaque

Located = tuple[CodeType | None, int, Place | None]


class Observed:
    """The user's function where it stands among a tensor's hooks, one for one: whoever removes, counts, pickles or
    names it finds what is to be found without us."""

    def __init__(self, hook: Any, node: Node, place: Located, guard: Guard, live: Callable[[], bool]) -> None:
        self._hook = hook
        self._node = node
        self._place = place
        self._guard = guard
        self._live = live
        self.__doc__ = hook.__doc__

    def __call__(self, grad: Any) -> Any:
        arrived = self._live() and self._guard(lambda: bool(real(grad)), "hooks")
        frame = sys._getframe().f_back
        result = self._hook(grad) if frame is None else standins.call(self._hook, (grad,), {}, frame)
        if arrived:
            self._guard(lambda: self._came_back(grad if result is None else result), "hooks")
        return result

    def _came_back(self, grad: Any) -> None:
        if isinstance(grad, torch.Tensor) and real(grad) is False:
            self._node.silenced = dict.fromkeys(range(len(self._node.inputs)), "zeros")
            self._node.hook = self._place

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_hook"), name)

    def __repr__(self) -> str:
        return repr(self._hook)

    def __eq__(self, other: object) -> bool:
        return bool(self._hook == (other._hook if isinstance(other, Observed) else other))

    def __hash__(self) -> int:
        return hash(self._hook)


def observe(
    node: Node, tensor: torch.Tensor, handle: Any, frame: FrameType, guard: Guard, live: Callable[[], bool]
) -> None:
    """Called when the user's hook has been registered; a tensor of the user's own kind may have put it elsewhere."""
    hooks = tensor._backward_hooks or {}
    hook = hooks.get(handle.id) if isinstance(handle, RemovableHandle) else None
    if hook is not None:
        hooks[handle.id] = Observed(hook, node, frames.locate(frame), guard, live)


def real(grad: torch.Tensor) -> bool | None:
    """Whether anything in it is not zero; None where that cannot be read."""
    return None if grad.is_meta or opaque(grad) else methods.true(methods.any_of(grad))
