"""What happens around a step: what it consumes, whether it moves anything, when to look at the weights."""

from __future__ import annotations

import sys
import threading
import weakref
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from whygrad.capture.torch.elsewhere import unfit
from whygrad.capture.torch.holding import Held
from whygrad.capture.torch.unheard import opaque
from whygrad.capture.torch.weights import Before
from whygrad.trace import Step

if TYPE_CHECKING:
    from whygrad.capture.torch.capture import Capture

COMPARED_STEPS = 8
"""Traced steps of an optimizer around which values are compared; then one in so many, and those traced now and then."""
SELDOM = 16


class Stepping:
    """Called around the steps of every optimizer."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.inside = False
        """A step happened while a backward was running."""
        self.completed = 0
        """When the latest traced step was over."""
        self._step: tuple[Step, Any] | None = None
        self._asking = (0, 0)
        """The thread whose step that is, and the identity of the frame that asked for it."""
        self._evaluated: list[weakref.ref[torch.nn.Module]] = []

    @property
    def running(self) -> Step | None:
        """The traced step that is about to begin, or has begun."""
        return self._step[0] if self._step is not None else None

    def interrupted(self) -> None:
        self._step, self.inside = None, False

    def broken_off(self) -> bool:
        """Whether this thread's latest step began and, now that a loss is differentiated, has never ended."""
        thread, asking = self._asking
        if self.running is None or thread != threading.get_ident():
            return False
        return not _waits(asking)  # An optimizer may differentiate in its own step.

    def _around(self) -> int | None:
        """The optimizer in whose step another one's begins."""
        thread, asking = self._asking
        outer = self.running
        return outer.optimizer if outer is not None and thread == threading.get_ident() and _waits(asking) else None

    def before(self, held: Held, closure: bool, frame: FrameType) -> None:
        capture = self.capture
        unseen = capture.window.step(held.number)
        if not capture.tracing:
            symptom, capture.protocol.symptom = capture.protocol.symptom, False
            if capture.window.should_open(capture.protocol.updates, unseen, symptom):
                capture.open()
                if not closure:
                    capture.protocol.resume(held)
                capture.mode.pause.depth = 0 if closure else 1  # What the optimizer does itself is not the script's.
            return
        if not capture.saw_it_all():
            capture.gradients.unheard(held.known)
        if (held.traced_steps < 2 and capture.naming.due(frame)) or capture.naming.wanted():
            capture.guard(lambda: capture.naming.look(frame), "names")
        held.traced_steps += 1
        capture.traced_updates += 1
        capture.parameters.stepped(held.known)
        capture.gradients.settle()
        step = capture.protocol.consumption(held, frame, capture.shadow.serial, closure)
        step.within = self._around()
        if capture.differentiating.inside:
            capture.backwards.consumed_early(step)
        capture.errors.stepped(held, frame)
        capture.guard(lambda: capture.keeping.stepped(held.number, frozenset(held.parameters), frame), "kept tensors")
        compared = held.traced_steps <= COMPARED_STEPS or not held.traced_steps % SELDOM or not capture.window.first
        before = capture.guard(lambda: capture.weights.before_step(held.tensors), "weights") if compared else None
        self._step, self._asking = (step, before), (threading.get_ident(), id(frame))
        if not closure:
            capture.mode.pause.begin()

    def after(self) -> None:
        capture = self.capture
        if not capture.tracing:
            return
        if self._step is not None:
            (step, before), self._step = self._step, None
            if before is not None:
                capture.guard(lambda: self._compare(step, before), "weights")
            capture.forms.stepped(step)
            if step.closure:
                capture.protocol.evaluated(step)
        if capture.differentiating.inside:  # An optimizer in a hook of backward: torch is not done yet.
            self.inside = True
            capture.mode.pause.depth = max(1, capture.mode.pause.depth - 1)  # The backward's own stays.
            return
        capture.mode.pause.depth = 0
        self.completed = capture.clock.now
        capture.close_if_enough()

    def _compare(self, step: Step, before: list[Before]) -> None:
        before = [seen for seen in before if not opaque(seen.tensor)]
        step.stayed = self.capture.weights.stayed(before)
        step.changed = len(step.stayed) < len(before) if before else None
        step.rounded_away = self.capture.weights.rounded_away(before)

    def look(self, updates: int) -> None:
        """At a step that is looked at anyway, traced or not."""
        capture = self.capture
        capture.guard(lambda: self._weigh(updates), "weights")
        if not capture.tracing:
            capture.guard(lambda: capture.keeping.later(updates), "kept tensors")
            outlived = [ref for ref in self._evaluated if (m := ref()) is not None and not m.training]
            self._evaluated.clear()
            if outlived:
                self.capture.protocol.symptom = True

    def _weigh(self, updates: int) -> None:
        self.capture.weights.begin(updates)
        if self.capture.weights.due(updates) and not unfit():
            self.capture.weights.look(updates, self.held())

    def held(self) -> set[int]:
        return {n for held in self.capture.protocol.optimizers for n in held.parameters}

    def evaluating(self, module: torch.nn.Module) -> None:
        """`eval()` after the window: the next step looks whether it is still in force."""
        if not self.capture.tracing:
            self._evaluated.append(weakref.ref(module))
            for held in self.capture.protocol.optimizers:
                held.next_look = 0
                held.attend()


def _waits(asking: int) -> bool:
    """Whether the frame of this identity is still on the stack."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and id(frame) != asking:
        frame = frame.f_back
    return frame is not None
