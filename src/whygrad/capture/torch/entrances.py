"""Ways into torch that its function protocol does not show: wrapped one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from whygrad.capture import detours, frames, standins
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.torch import functions, modules
from whygrad.capture.torch.hooks import real
from whygrad.capture.torch.parameters import continuous, shape
from whygrad.capture.torch.recording import Recorder
from whygrad.capture.torch.shadow import Node
from whygrad.trace import Kind
from whygrad.trace.operations import LAYERS

Tensor = torch.Tensor


class Entrances:
    """Detours of `from_numpy`, `Parameter`, `Variable` and `autograd.Function`."""

    def __init__(self, recorder: Recorder, guard: Guard, recording: Callable[[], bool]) -> None:
        self.recorder = recorder
        self.guard = guard
        self.recording = recording
        self._hooks: list[Any] = []

    def follow(self, during: Detours) -> None:
        during.set(torch.autograd.Function, "apply", self._applying)

    def attach(self, always: Detours) -> None:
        """For the whole run: where a parameter was made matters whenever it was made, and the names of what is
        written in C are bound anew only once."""
        always.set(torch.nn.Parameter, "__new__", self._making)
        always.set(torch.nn.Parameter, "__deepcopy__", self._copying)
        always.set(torch, "from_numpy", self._from_numpy)
        always.set(type(torch.autograd.Variable), "__call__", self._variable)
        self._hooks = [
            register_module_parameter_registration_hook(self._registering),
            register_module_module_registration_hook(self._registering),
        ]

    def detach(self) -> None:
        while self._hooks:
            self._hooks.pop().remove()

    def _making(self, original: Function) -> Function:
        def new(cls: Any, data: Any, requires_grad: Any) -> Any:
            frame = detours.caller()
            out = standins.call(original, (cls, data, requires_grad), {}, frame)
            self.guard(lambda: self._parameter(data, out, frame), "parameter")
            return out

        return new

    def _copying(self, original: Function) -> Function:
        def deepcopy(source: Any, memo: Any) -> Any:
            frame = detours.caller()
            out = standins.call(original, (source, memo), {}, frame)
            self.guard(lambda: self._copied(source, out, frame), "deepcopy")
            return out

        return deepcopy

    def _registering(self, module: Any, name: str, value: Any) -> None:
        """A module or parameter put in the place of another: that line may leave an optimizer behind."""
        frame = sys._getframe(1)
        self.guard(lambda: self._replaced(value, frame) if _differs(module, name, value) else None, "assignments")

    def _replaced(self, value: Any, frame: FrameType) -> None:
        site = frames.user_site(frame)
        for tensor in [value] if isinstance(value, Tensor) else modules.parameters(value):
            self.recorder.parameters.register(tensor).replaced = site

    def _parameter(self, data: Any, out: Any, frame: FrameType) -> None:
        if not isinstance(out, Tensor):
            return
        if isinstance(data, Tensor) and data.grad_fn is not None and self.recording():
            self.recorder.copied("Parameter", data, out, frame)
            return
        known = self.recorder.parameters.register(out)
        known.stack = frames.user_stack(frame)
        known.created = known.stack[0] if known.stack else None
        node = self.recorder.shadow.get(data) if isinstance(data, Tensor) else None
        if node is not None:
            known.derived_from = tuple(sorted(sources(node)))

    def _copied(self, source: Any, out: Any, frame: FrameType) -> None:
        parameters = self.recorder.parameters
        known, original = parameters.register(out), parameters.register(source)
        known.loaded = True
        known.derived_from = (original.number,)
        if not out.requires_grad:  # The copy inherits the freeze, and is to blame where that was not seen.
            known.frozen = original.frozen or frames.user_site(frame)

    def _from_numpy(self, original: Function) -> Function:
        def from_numpy(*args: Any, **kwargs: Any) -> Any:
            frame = detours.caller()
            out = standins.call(original, args, kwargs, frame)
            if args and self.recording():
                self.guard(lambda: self.recorder.copied("from_numpy", args[0], out, frame), "from_numpy")
            return out

        return from_numpy

    def _variable(self, original: Function) -> Function:
        def call(cls: Any, *args: Any, **kwargs: Any) -> Any:
            frame = detours.caller()
            out = standins.call(original, (cls, *args), kwargs, frame)
            if args and isinstance(args[0], Tensor) and self.recording():
                self.guard(lambda: self.recorder.copied("Variable", args[0], out, frame), "Variable")
            return out

        return call

    def _applying(self, original: Function) -> Function:
        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            frame = detours.caller()
            if not self.recording() or torch._C._are_functorch_transforms_active():
                return standins.call(original, (cls, *args), kwargs, frame)
            by = "checkpoint" if cls.__name__ == "CheckpointFunction" else "function"
            owner = self.guard(lambda: self.recorder.regions.function(frame, by), "function")
            try:
                out = standins.call(original, (cls, *args), kwargs, frame)
            finally:
                if owner is not None:
                    self.recorder.regions.left(owner)
            self.guard(lambda: self._applied(cls, args, out, frame, by), "function")
            return out

        return apply

    def _applied(self, cls: Any, args: Any, out: Any, frame: FrameType, by: str) -> None:
        """One node for the whole function, above whatever its forward did."""
        recorder = self.recorder
        kind = Kind.CHECKPOINT if by == "checkpoint" else Kind.FUNCTION
        operands = [a for a in args if isinstance(a, Tensor)]
        positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        for tensor in [out] if isinstance(out, Tensor) else out if isinstance(out, (list, tuple)) else ():
            if not isinstance(tensor, Tensor) or any(tensor is a for a in operands):
                continue
            inner = recorder.shadow.get(tensor)
            inputs = [(recorder.node_of(a), a.requires_grad, False) for a in operands]
            if inner is not None and (kind is Kind.CHECKPOINT or not operands):
                inputs.append((inner, False, False))
            node = recorder.shadow.new(kind, cls.__name__)
            node.inputs = tuple(inputs)
            node.floating, node.requires_grad = continuous(tensor), tensor.requires_grad
            node.shape, node.dtype = shape(tensor), tensor.dtype
            if kind is Kind.FUNCTION and not tensor.requires_grad and not functions.recorded():
                node.region = recorder.regions.current()
            recorder.place(node, frame)
            recorder.shadow.put(tensor, node)
            if kind is Kind.FUNCTION and tensor.grad_fn is not None:
                _watch_backward(tensor.grad_fn, node, positions, self.guard)


def _differs(module: Any, name: str, value: Any) -> bool:
    for kept in (module.__dict__.get("_modules"), module.__dict__.get("_parameters")):
        if isinstance(kept, dict) and kept.get(name) is not None:  # A scripted module keeps something else.
            return kept[name] is not value
    return False


def _watch_backward(grad_fn: Any, node: Node, positions: list[int], guard: Guard) -> None:
    """Note for which operands the user's backward returns nothing, or zeros, though gradient came in."""

    def returned(grad_inputs: Any, grad_outputs: Any) -> None:
        if not any(g is not None and real(g) for g in grad_outputs):
            return
        node.silenced = {}
        for index, position in enumerate(positions):
            if position < len(grad_inputs) and node.inputs[index][1]:
                grad = grad_inputs[position]
                if grad is None or real(grad) is False:
                    node.silenced[index] = "None" if grad is None else "zeros"

    def hook(grad_inputs: Any, grad_outputs: Any) -> None:
        guard(lambda: returned(grad_inputs, grad_outputs), "function")

    grad_fn.register_hook(hook)


def _computes(node: Node) -> bool:
    return node.kind is Kind.DISCRETE or node.name in LAYERS


def sources(node: Node, most: int = 400) -> set[int]:
    """Parameters that a value was copied or blended from, looking back a bounded way.

    What a layer or a choice made of them is data: statistics of rewards depend on the policy and copy nothing of it.
    """
    found: set[int] = set()
    stack, seen = [node], {node.serial}
    while stack and len(seen) < most:
        for operand, _, selects in stack.pop().inputs:
            if operand.parameter is not None:
                found.add(operand.parameter)
            elif operand.serial not in seen and not selects and not _computes(operand):
                seen.add(operand.serial)
                stack.append(operand)
    if node.parameter is not None:
        found.add(node.parameter)
    return found
