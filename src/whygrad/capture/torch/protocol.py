"""The ledger while the run goes on: backward deposits, clear clears, clip scales, step consumes."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from whygrad.capture.torch import frames
from whygrad.capture.torch.guard import Guard
from whygrad.capture.torch.parameters import Known, Parameters
from whygrad.capture.torch.patches import Patches
from whygrad.trace import Backward, Clear, Clip, Copy, Site, Step

Tensor = torch.Tensor
MOST_EVENTS = 4000
ALWAYS_CHECKED = 64
LEAST_STRIDE = 16
CHEAP_LOOK = 8
"""Parameters whose gradients are looked at per step on average, once training has settled."""


@dataclass
class Held:
    """An optimizer that was seen."""

    number: int
    ref: weakref.ref[Any]
    kind: str
    site: Site | None
    stack: tuple[Site, ...]
    steps: int = 0
    traced_steps: int = 0
    parameters: tuple[int, ...] = ()
    tensors: list[tuple[Known, Tensor]] = field(default_factory=list)
    """What it holds; the tensors live as long as the optimizer does."""
    stride: int = LEAST_STRIDE
    """Steps between two looks at the gradients, so that looking stays cheap."""
    next_look: int = 0


class Protocol:
    """Events of the update protocol; only the counts outlive the traced window."""

    def __init__(self, parameters: Parameters, guard: Guard) -> None:
        self.parameters = parameters
        self.guard = guard
        self.optimizers: list[Held] = []
        self._held: dict[int, Held] = {}
        self.backwards: list[Backward] = []
        self.steps: list[Step] = []
        self.clears: list[Clear] = []
        self.clips: list[Clip] = []
        self.copies: list[Copy] = []
        self.order = 0
        self.updates = 0
        self.symptom = False
        """A parameter that used to get gradient got none; whoever traces next clears it."""
        self._hooks: list[Any] = []
        self.attentive = False
        self.tracing: Callable[[], bool] = lambda: True
        self.on_growth: Callable[[FrameType], None] = lambda _: None
        self.before_step: Callable[[Held, bool, FrameType], None] = lambda *_: None
        self.after_step: Callable[[], None] = lambda: None

    def tick(self) -> int:
        self.order += 1
        return self.order

    # -- always on: backward, step, construction

    def patch_always(self, patches: Patches) -> None:
        self._patch_construction(patches)
        self._hooks = [register_optimizer_step_pre_hook(self._pre_step)]

    def listen(self, attentive: bool) -> None:
        """While the window is open every step counts, and its end matters too."""
        self.attentive = attentive
        for hook in self._hooks[1:]:
            hook.remove()
        del self._hooks[1:]
        if attentive:
            self._hooks.append(register_optimizer_step_post_hook(self._post_step))

    def unhook(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _patch_construction(self, patches: Patches) -> None:
        original = torch.optim.Optimizer.__init__

        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            frame = sys._getframe(1)
            self.guard(lambda: self.seen(optimizer, frame), "optimizer")

        patches.set(torch.optim.Optimizer, "__init__", init)

    def seen(self, optimizer: Any, frame: FrameType | None) -> Held:
        """Register an optimizer, at its construction or (made earlier) at its first step."""
        held = self._held.get(id(optimizer))
        if held is not None and held.ref() is optimizer:
            return held
        stack = frames.user_stack(frame)
        site = stack[0] if stack else frames.user_site(frame)
        held = Held(len(self.optimizers), weakref.ref(optimizer), type(optimizer).__name__, site, stack)
        held.ref = weakref.ref(optimizer, lambda _: held.tensors.clear())
        self.optimizers.append(held)
        self._held[id(optimizer)] = held
        self.refresh(held, optimizer)
        return held

    def refresh(self, held: Held, optimizer: Any) -> None:
        """Read the parameter groups again; they may have grown."""
        count = sum(len(group["params"]) for group in optimizer.param_groups)
        if held.tensors and len(held.tensors) == count:
            return
        tensors = [p for group in optimizer.param_groups for p in group["params"] if isinstance(p, Tensor)]
        held.tensors = [(self.parameters.register(p), p) for p in tensors]
        for known, tensor in held.tensors:
            if not known.consumed:
                known.wanted = tensor.requires_grad
        held.parameters = tuple(dict.fromkeys(known.number for known, _ in held.tensors))
        held.stride = max(LEAST_STRIDE, len(tensors) // CHEAP_LOOK)

    def _pre_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        held = self._held.get(id(optimizer))
        if held is not None and held.steps < held.next_look and not self.attentive:
            held.steps += 1  # The way almost every step goes once the window has closed.
            self.updates += 1
            return
        frame = sys._getframe(1)
        closure = len(args) > 1 or kwargs.get("closure") is not None  # args[0] is the optimizer itself
        with torch._C.DisableTorchFunction():
            self.guard(lambda: self._stepping(optimizer, closure, frame), "step")

    def _stepping(self, optimizer: Any, closure: bool, frame: FrameType) -> None:
        held = self.seen(optimizer, frame)
        held.steps += 1
        self.updates += 1
        held.next_look = held.steps + (held.stride if held.steps > ALWAYS_CHECKED else 0)
        known = len(held.parameters)
        self.refresh(held, optimizer)
        if len(held.parameters) > known:
            self.on_growth(frame)
        self._look(held)
        self.before_step(held, closure, frame)

    def _look(self, held: Held) -> None:
        """Which parameters have a gradient now? One that used to have it and lost it is a symptom."""
        for known, tensor in held.tensors:
            if tensor.grad is None:
                if known.consumed and not known.absent and tensor.requires_grad:
                    self.symptom = True
                known.absent += 1
            else:
                known.absent = 0
                known.consumed += 1
            known.wanted = tensor.requires_grad or (known.wanted and known.looked)
            if not known.looked:
                known.looked = True
                known.version = -1 if tensor.is_inference() else tensor._version

    def _post_step(self, *_: Any) -> None:
        self.guard(self.after_step, "step")

    # -- only while tracing: the rest of the protocol

    def patch_window(self, patches: Patches) -> None:
        self._patch_clearing(patches)
        self._patch_clipping(patches)

    def _patch_clearing(self, patches: Patches) -> None:
        for owner, read in ((torch.optim.Optimizer, _optimizer_tensors), (torch.nn.Module, _module_tensors)):
            original = owner.zero_grad

            def zero_grad(holder: Any, *args: Any, _original: Any = original, _read: Any = read, **kwargs: Any) -> Any:
                result = _original(holder, *args, **kwargs)
                frame = sys._getframe(1)
                self.guard(lambda: self.cleared(_read(holder), frame), "zero_grad")
                return result

            patches.set(owner, "zero_grad", zero_grad)

    def _patch_clipping(self, patches: Patches) -> None:
        owner = torch.nn.utils
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            original = getattr(owner, name)

            def clip(parameters: Any, *args: Any, _original: Any = original, **kwargs: Any) -> Any:
                if not self.tracing():  # A name imported while tracing keeps this wrapper for good.
                    return _original(parameters, *args, **kwargs)
                tensors = [parameters] if isinstance(parameters, Tensor) else list(parameters)
                frame = sys._getframe(1)
                result = _original(tensors, *args, **kwargs)
                limit = args[0] if args else kwargs.get("max_norm", kwargs.get("clip_value"))
                self.guard(lambda: self.clipped(tensors, limit, frame), "clip")
                return result

            patches.set(owner, name, clip)

    def cleared(self, tensors: Iterable[Tensor], frame: FrameType) -> None:
        numbers = self._numbers(tensors)
        for number in numbers:
            self.parameters[number].deposits.clear()
        _bounded(self.clears, Clear(frames.user_site(frame), frozenset(numbers), self.tick()))

    def clipped(self, tensors: Iterable[Tensor], limit: Any, frame: FrameType) -> None:
        numbers = frozenset(self._numbers(tensors))
        _bounded(self.clips, Clip(frames.user_site(frame), numbers, float(limit), self.tick()))

    def copied(self, into: Tensor, sources: set[int], site: Site | None) -> None:
        number = self.parameters.register(into).number
        self.parameters[number].loaded = True
        last = self.copies[-1] if self.copies else None
        if last is not None and last.site == site and last.order == self.order:
            last.into |= {number}
            last.sources |= sources
            return
        _bounded(self.copies, Copy(site, frozenset({number}), frozenset(sources), self.tick()))

    def snapshot(self) -> dict[int, tuple[int, int] | None]:
        """Identity and version of every gradient: tells without a kernel what a backward deposits."""
        return {
            known.number: None if (grad := tensor.grad) is None else (id(grad), grad._version)
            for known, tensor in self.parameters.living()
            if tensor.is_leaf
        }

    def consumption(self, held: Held, frame: FrameType) -> Step:
        """What this step finds on its parameters."""
        consumed: dict[int, tuple[int, ...]] = {}
        for number in held.parameters:
            known = self.parameters[number]
            tensor = known.ref()
            if tensor is None:
                continue
            if tensor.grad is None:
                known.deposits.clear()
            else:
                consumed[number] = tuple(known.deposits)
        step = Step(held.number, frames.user_site(frame), consumed, self.tick())
        _bounded(self.steps, step)
        return step

    def _numbers(self, tensors: Iterable[Tensor]) -> list[int]:
        found = (self.parameters.find(t) for t in tensors)
        return [known.number for known in found if known is not None]


def _bounded(events: list[Any], event: Any) -> None:
    events.append(event)
    if len(events) > MOST_EVENTS:
        del events[: MOST_EVENTS // 2]


def _optimizer_tensors(optimizer: Any) -> list[Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _module_tensors(module: Any) -> list[Tensor]:
    return list(module.parameters())
