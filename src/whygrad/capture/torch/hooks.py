"""Tensor hooks that swallow the gradient: observed by one hook before the user's and one after it."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from whygrad.capture import frames
from whygrad.capture.guard import Guard
from whygrad.capture.torch import methods
from whygrad.capture.torch.shadow import Node
from whygrad.capture.torch.unheard import opaque


def observe(node: Node, tensor: torch.Tensor, frame: FrameType, guard: Guard) -> Callable[[], None]:
    """Called before the user's hook is registered; what it returns is to be called after."""
    place = frames.locate(frame)
    arrived = [False]

    def incoming(grad: Any) -> None:
        arrived[0] = bool(guard(lambda: real(grad), "hooks"))

    def outgoing(grad: Any) -> None:
        if arrived[0] and guard(lambda: real(grad), "hooks") is False:
            node.silenced = dict.fromkeys(range(len(node.inputs)), "zeros")
            node.hook = place

    if not tensor.requires_grad:
        return lambda: None
    tensor.register_hook(incoming)
    return lambda: tensor.register_hook(outgoing) and None


def real(grad: torch.Tensor) -> bool | None:
    """Whether anything in it is not zero; None where that cannot be read."""
    return None if grad.is_meta or opaque(grad) else methods.true(methods.any_of(grad))
