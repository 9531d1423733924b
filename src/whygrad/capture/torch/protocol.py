"""The ledger while the run goes on: backward deposits, clear clears, clip scales, step consumes."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from whygrad.capture import detours, frames, standins
from whygrad.capture.clock import Clock, remember
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.torch import methods
from whygrad.capture.torch.holding import LEAST_STRIDE, Held, Passing, groups
from whygrad.capture.torch.parameters import Parameters
from whygrad.trace import Backward, Copy, Site, Step
from whygrad.trace.untrained import PATIENT

Tensor = torch.Tensor
ALWAYS_CHECKED = 64
CHEAP_LOOK = 8
"""Parameters whose gradients are looked at per step on average, once training has settled."""
LONGEST_STRIDE = 256
RARER = 16
"""A look every sixteenth of the steps so far: what changes late in a run lasts."""


class Protocol:
    """Events of the update protocol; only the counts outlive the traced window."""

    def __init__(self, parameters: Parameters, guard: Guard, clock: Clock) -> None:
        self.parameters = parameters
        self.guard = guard
        self.clock = clock
        self.optimizers: list[Held] = []
        self._held: dict[int, Held] = {}
        self.backwards: list[Backward] = []
        self.steps: list[Step] = []
        self.copies: list[Copy] = []
        self.passing = Passing()
        self.symptom = False
        """A parameter that used to get gradient got none, or the other way round; whoever traces next clears it."""
        self.resumed: int | None = None
        """The optimizer at whose latest step tracing was taken up; None once it has stepped again."""
        self._hooks: list[Any] = []
        self.attentive = False
        self.sampling = False
        """The step that is running was sampled."""
        self._evaluating: Held | None = None
        """Whose step is running with a closure, and is looked at when it is over."""
        self.on_construction: Callable[[], None] = lambda: None
        self.on_growth: Callable[[FrameType], None] = lambda _: None
        self.on_look: Callable[[int], None] = lambda _: None
        self.before_step: Callable[[Held, bool, FrameType], None] = lambda *_: None
        self.after_step: Callable[[], None] = lambda: None
        self.sample: Callable[[Held, Any, bool, FrameType], bool] = lambda *_: False
        self.sampled: Callable[[Any], None] = lambda _: None

    @property
    def updates(self) -> int:
        """Steps of all optimizers."""
        return sum(held.steps for held in self.optimizers)

    # -- always on: backward, step, construction

    def attach(self, always: Detours) -> None:
        always.set(torch.optim.Optimizer, "__init__", self._constructing)
        self._hooks = [register_optimizer_step_pre_hook(self.passing.hook(self._pre_step))]

    def listen(self, attentive: bool) -> None:
        """While the window is open every step counts, and its end matters too."""
        self.attentive = attentive
        for held in self.optimizers:
            held.attend()

    def _await_end(self, wanted: bool) -> None:
        """Hear of the end of steps only while somebody asks: a call into cold code costs microseconds per step.

        Done before a step: torch is not going through these hooks then.
        """
        while len(self._hooks) > 1 and not wanted:
            self._hooks.pop().remove()
        if len(self._hooks) == 1 and wanted:
            self._hooks.append(register_optimizer_step_post_hook(self._post_step))

    def unhook(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _constructing(self, original: Function) -> Function:
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            frame = detours.caller()
            standins.call(original, (optimizer, *args), kwargs, frame)
            self.guard(lambda: self._constructed(optimizer, frame), "optimizer")

        return init

    def _constructed(self, optimizer: Any, frame: FrameType) -> None:
        self.seen(optimizer, frame)
        self.on_construction()

    def seen(self, optimizer: Any, frame: FrameType | None) -> Held:
        """Register an optimizer, at its construction or (made earlier) at its first step."""
        held = self._held.get(id(optimizer))
        if held is not None and held.ref() is optimizer:
            return held
        stack = frames.user_stack(frame)
        site = stack[0] if stack else frames.user_site(frame)
        number, kind = len(self.optimizers), type(optimizer).__name__
        left, refs = self.passing.new(optimizer)
        held = Held(number, refs, kind, site, stack, left)
        self.optimizers.append(held)
        self._held[id(optimizer)] = held
        self.refresh(held, optimizer)
        return held

    def refresh(self, held: Held, optimizer: Any) -> None:
        """Read the parameter groups again; they may have grown, or hold others."""
        tensors = [p for group in groups(optimizer) for p in group["params"] if isinstance(p, Tensor)]
        if tensors and len(held.known) == len(tensors):
            pairs = zip(held.known, tensors, strict=True)
            if all(known.ref() is tensor for known, tensor in pairs):
                return
        held.known = [self.parameters.register(p) for p in tensors]
        held.groups = tuple(
            tuple(self.parameters.register(p).number for p in group["params"] if isinstance(p, Tensor))
            for group in groups(optimizer)
        )
        for known, tensor in zip(held.known, tensors, strict=True):
            if not known.consumed:
                known.wanted = tensor.requires_grad
        numbers = [known.number for known in held.known]
        held.parameters = tuple(dict.fromkeys(numbers))
        twice = frozenset(n for n, times in Counter(numbers).items() if times > 1)
        held.twice = twice or held.twice
        held.maximizes = any(group.get("maximize") for group in groups(optimizer))
        held.adaptive = all("eps" in group or "betas" in group for group in groups(optimizer))
        held.momentum = any("betas" in group or group.get("momentum") for group in groups(optimizer))
        held.stride = max(LEAST_STRIDE, len(tensors) // CHEAP_LOOK)

    def find(self, optimizer: Any) -> Held | None:
        return self._held.get(id(optimizer))

    def _pre_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        frame = sys._getframe(2)
        closure = len(args) > 1 or kwargs.get("closure") is not None  # args[0] is the optimizer itself
        self.guard(lambda: self._step(optimizer, closure, frame), "step")

    def _step(self, optimizer: Any, closure: bool, frame: FrameType) -> None:
        held = self.seen(optimizer, frame)
        held.attend()
        looked = held.steps >= held.next_look or self.attentive
        held.counted += 1
        if looked:
            self._stepping(held, optimizer, closure, frame)
        self._sample(held, optimizer, closure, frame)
        awaited = self.sampling or self.attentive or self._evaluating is not None
        if not awaited:
            held.let_pass()
        self._await_end(awaited)

    def _sample(self, held: Held, optimizer: Any, closure: bool, frame: FrameType) -> None:
        if held.steps >= held.next_sample or self.attentive:
            self.sampling = bool(self.guard(lambda: self.sample(held, optimizer, closure, frame), "telemetry"))

    def _sampled(self, optimizer: Any) -> None:
        self.sampling = False
        self.sampled(optimizer)

    def _stepping(self, held: Held, optimizer: Any, closure: bool, frame: FrameType) -> None:
        stride = max(held.stride, min(held.steps // RARER, LONGEST_STRIDE))
        held.next_look = held.steps + (stride if held.steps > ALWAYS_CHECKED else 0)
        known = len(held.parameters)
        self.refresh(held, optimizer)
        if len(held.parameters) > known:
            self.guard(lambda: self.on_growth(frame), "names")
        if closure:
            self._evaluating = held  # The gradients are yet to be made.
        else:
            self._look(held)
        if not all(map(_ended, groups(optimizer))):
            held.stopped = None
        elif held.stopped is None:
            held.stopped = held.steps
        self.on_look(self.updates)
        self.before_step(held, closure, frame)

    def _look(self, held: Held) -> None:
        """Which parameters have a gradient now? One that used to have it and lost it is a symptom, or got it late."""
        held.looks += 1
        now = self.updates
        for known, tensor in held.tensors:
            if methods.gradient(tensor) is None:
                if known.consumed and not known.absent and tensor.requires_grad:
                    self.symptom = True
                known.absent += 1
            else:
                if not known.consumed:
                    known.first, known.waited = now, known.absent
                    self.symptom = self.symptom or known.absent >= PATIENT
                known.absent, known.last = 0, now
                known.consumed += 1
            known.asks = tensor.requires_grad
            known.wanted = known.asks or (known.wanted and known.looked)
            if not known.looked:
                known.looked = True
                known.unwatched = held.steps - held.looked - 1 if held.looks > 1 else 0
                known.version = -1 if tensor.is_inference() else tensor._version
        held.looked = held.steps

    def _post_step(self, optimizer: Any, *_: Any) -> None:
        held, self._evaluating = self._evaluating, None
        if held is not None:
            self.guard(lambda: self._look(held), "step")
        if self.sampling:
            self.guard(lambda: self._sampled(optimizer), "telemetry")
        if self.attentive:
            self.guard(self.after_step, "step")

    # -- only while tracing

    def copied(self, into: Tensor, sources: set[int], site: Site | None, blended: bool, serial: int) -> None:
        number = self.parameters.register(into).number
        self.parameters[number].loaded = True
        itself = frozenset({number}) if sources == {number} else frozenset[int]()
        sources = sources - {number}
        last = self.copies[-1] if self.copies else None
        if last is not None and last.site == site and last.order == self.clock.now:
            last.into |= {number}
            last.sources |= sources
            last.itself |= itself
            last.blended = last.blended or blended
            last.pairs[number] = last.pairs.get(number, frozenset()) | sources
            last.serial = serial
            return
        mine = frozenset(sources)
        event = Copy(site, frozenset({number}), mine, self.clock.tick(), {number: mine}, blended, itself, serial)
        remember(self.copies, event)

    def _found(self, held: Held) -> tuple[dict[int, tuple[int, ...]], set[int]]:
        consumed: dict[int, tuple[int, ...]] = {}
        assigned: set[int] = set()
        for number in held.parameters:
            known = self.parameters[number]
            tensor = known.ref()
            if tensor is None:
                continue
            if methods.gradient(tensor) is None:
                known.deposits.clear()
                known.leftover = 0
                continue
            consumed[number] = tuple(known.deposits)
            if known.assigned:
                assigned.add(number)
        return consumed, assigned

    def evaluated(self, step: Step) -> None:
        """A step with a closure is over: what did the closure's own backward leave on its parameters?"""
        step.consumed, assigned = self._found(self.optimizers[step.optimizer])
        step.assigned = frozenset(assigned)

    def consumption(self, held: Held, frame: FrameType, serial: int, closure: bool) -> Step:
        """What this step finds on its parameters."""
        consumed, assigned = self._found(held)
        site = frames.user_site(frame)
        step = Step(
            held.number, site, consumed, self.clock.tick(), serial, assigned=frozenset(assigned), closure=closure
        )
        step.update, step.leftover = self.updates, self._leftover(held)
        for looked in self.optimizers:
            if looked is held or not looked.steps:
                looked.look_at_rates(step.order)
        step.thread = threading.get_ident()
        step.own, step.rates = held.steps, held.rates
        remember(self.steps, step)
        return step

    def resume(self, held: Held) -> None:
        """Tracing is taken up at this step: it applies what stands there, whichever backwards that came from.

        Gradients that belong to another parameter as well (a worker's) may be cleared by way of that one.
        """
        mine = {known.number for known in held.known}
        standing = {known.number: methods.gradient(tensor) for known, tensor in held.tensors}
        grads = {id(grad) for grad in standing.values() if grad is not None}
        others = (t for k, t in self.parameters.within_reach() if k.number not in mine and t.is_leaf)
        if any(grad is not None and id(grad) in grads for grad in map(methods.gradient, others)):
            return
        self.resumed = held.number
        for known, _ in held.tensors:
            grad = standing[known.number]
            known.leftover = id(grad) if grad is not None else 0

    def _leftover(self, held: Held) -> frozenset[int] | None:
        """What was applied at the step where tracing was taken up, and stands there still at the next one."""
        if self.resumed != held.number:
            return None
        self.resumed = None
        if any(known.assigned for known in held.known):
            return None  # Put there by hand: what is in it is told by its deposits.
        left = ((known, tensor) for known, tensor in held.tensors if known.leftover)
        return frozenset(known.number for known, tensor in left if known.leftover == id(methods.gradient(tensor)))


def _ended(group: dict[str, Any]) -> bool:
    """Whether a scheduler (it notes the first rate) has set the rate to zero; a rate on a device is not waited for."""
    return "initial_lr" in group and type(group.get("lr")) in (int, float) and group["lr"] == 0
