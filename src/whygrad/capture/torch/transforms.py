"""`torch.func.vmap`: what happens inside is one operation for us, from everything that went in to what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
import torch._functorch.apis as functorch
from torch.utils._pytree import tree_leaves

from whygrad.capture import detours, standins
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.torch import functions
from whygrad.capture.torch.parameters import continuous, shape
from whygrad.capture.torch.recording import Recorder
from whygrad.trace import Kind

Tensor = torch.Tensor


def follow(during: Detours, recorder: Recorder, guard: Guard, recording: Callable[[], bool]) -> None:
    """Inside a transform tensors are wrapped in others that the shadow graph does not know."""

    def mapping(original: Function) -> Function:
        def vmap_impl(function: Any, *args: Any, **kwargs: Any) -> Any:
            frame, inside = detours.caller(), torch._C._are_functorch_transforms_active()
            out = standins.call(original, (function, *args), kwargs, frame)
            if recording() and not inside:
                guard(lambda: _mapped(recorder, [function, args, kwargs], out, frame), "vmap")
            return out

        return vmap_impl

    if hasattr(functorch, "vmap_impl"):
        during.set(functorch, "vmap_impl", mapping)


def _mapped(recorder: Recorder, given: list[Any], out: Any, frame: FrameType) -> None:
    operands = [t for value in tree_leaves(given) for t in _tensors(value)]
    if any(torch._C._functorch.is_functorch_wrapped_tensor(t) for t in operands):
        return
    inputs = tuple((recorder.node_of(t), t.requires_grad, False) for t in operands)
    name = "vmap" if any(node.parameter is not None for node, _, _ in inputs) else "mapped"  # Of weights: a network.
    for tensor in tree_leaves(out):
        if isinstance(tensor, Tensor):
            node = recorder.shadow.new(Kind.COMPUTE, name)
            node.inputs = inputs
            node.floating, node.requires_grad = continuous(tensor), tensor.requires_grad
            node.shape, node.dtype = shape(tensor), tensor.dtype
            if not tensor.requires_grad and not functions.recorded():
                node.region = recorder.regions.current()
            recorder.place(node, frame)
            recorder.shadow.put(tensor, node)


def _tensors(value: Any) -> Iterator[Tensor]:
    """A tensor, or those that a function brings along: of its module, and of the variables around it."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, torch.nn.Module):
        yield from value.parameters()
    elif callable(value):
        yield from _tensors(getattr(value, "__self__", None))
        for cell in getattr(value, "__closure__", None) or ():
            try:
                brought = cell.cell_contents
            except ValueError:  # Not bound yet.
                continue
            for found in tree_leaves(brought):
                if isinstance(found, (Tensor, torch.nn.Module)):
                    yield from _tensors(found)
