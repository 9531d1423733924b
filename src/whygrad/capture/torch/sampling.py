"""Which updates are sampled, and what is taken of them: after backward, before the step, after the step."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from whygrad.capture import frames
from whygrad.capture.budget import EVERY, Budget, Turn
from whygrad.capture.torch import methods
from whygrad.capture.torch.draft import Draft, written
from whygrad.capture.torch.elsewhere import unfit
from whygrad.capture.torch.holding import Held, groups
from whygrad.capture.torch.measurement import Marks, Measurement
from whygrad.capture.torch.moving import Moving
from whygrad.capture.torch.scaling import Scaling
from whygrad.capture.torch.signals import signals
from whygrad.capture.torch.transfer import Parcel
from whygrad.capture.torch.unheard import NoFunctions, NoHistory, NoOperations
from whygrad.source import expressions
from whygrad.telemetry.record import Record

if TYPE_CHECKING:
    from whygrad.capture.torch.capture import Capture

Tensor = torch.Tensor
PATIENCE = 64
"""Backwards without a step of the optimizer after which its sample is given up."""
MOST_LATE = 8
"""Samples of one optimizer that may be on their way from a device."""
AHEAD = 2
"""Traced updates at the start that are sampled before their time, as is one of each later window: what is seen only
while tracing belongs to them."""
FAR_AWAY = 1 << 62


@dataclass
class State:
    """One optimizer between two of its steps."""

    held: Held
    turn: Turn = field(default_factory=Turn)
    open: bool = False
    thread: int = 0
    """Whose step opened it."""
    marks: Marks | None = None
    """Gradients as the last backward, or the step before, left them."""
    backwards: int = 0
    deposits: int = 0
    """Backwards that left something on this optimizer's parameters."""
    expected: int = 1
    """Deposits in the interval before: earlier ones need not be measured."""
    window: int = 0
    ahead: int = 0
    """Samples taken before their time in the window that was last opened."""
    unseen: bool = False
    """Somebody writes gradients where versions do not show it."""
    draft: Draft | None = None
    """What the backwards of this interval left."""
    stepping: Draft | None = None
    """A sampled step that is running."""
    late: list[Draft] = field(default_factory=list)


class Sampling:
    """Called by the always-on hooks, rarely; `emit` gets every record."""

    def __init__(self, capture: Capture, budget: Budget, emit: Callable[[Record], None]) -> None:
        self.capture = capture
        self.budget = budget
        self.emit = emit
        self.scaling = Scaling(capture.guard)
        self._states: dict[int, State] = {}
        self._open: list[State] = []
        self._names: dict[Any, str] = {}
        self._looked: dict[int, int] = {}

    @property
    def off(self) -> bool:
        return self.budget.share <= 0

    # -- the step

    def before_step(self, held: Held, optimizer: Any, closure: bool, frame: FrameType) -> bool:
        """Whether the end of this step is wanted."""
        if self.off:
            held.next_sample = FAR_AWAY
            return False
        state = self._states.get(held.number)
        if state is None:
            state = self._states[held.number] = State(held)
        with self.budget.spending(state.turn), NoFunctions(), NoOperations(), NoHistory():
            self._collect(state)
            state.stepping = None  # A step that raised never came to its end.
            sampled = state.open and self._consume(state, optimizer, closure, frame)
            again = self.budget.share >= EVERY or self._traced(state)
            if not sampled or (again and not closure):
                self._plan(state)
            else:
                held.next_sample = held.steps + 1
        return sampled

    def _plan(self, state: State) -> None:
        """Watch the interval up to the next step, or let some updates pass."""
        held = state.held
        if (self.budget.due(state.turn) or self._traced(state)) and not unfit():
            self._begin(state)
        elif not state.late:
            held.next_sample = held.steps + self.budget.skip(state.turn, held.steps)
            return
        held.next_sample = held.steps + 1

    def _traced(self, state: State) -> bool:
        """Whether the next update is traced, and one of the first of its window."""
        if state.window != self.capture.windows:
            state.window, state.ahead = self.capture.windows, 0
        return self.capture.tracing and state.ahead < (AHEAD if self.capture.window.first else 1)

    def _begin(self, state: State) -> None:
        state.ahead += 1
        state.open, state.backwards, state.deposits, state.draft = True, 0, 0, None
        state.marks = Marks(state.held.tensors)
        self._open.append(state)
        state.thread = threading.get_ident()
        self.capture.count.measured = True

    def _consume(self, state: State, optimizer: Any, closure: bool, frame: FrameType) -> bool:
        """Take what the step finds; False when this is no time for it."""
        draft = state.draft or Draft(Parcel())
        self._shut(state)
        if unfit() or len(state.late) >= MOST_LATE:
            return False
        state.expected = max(state.deposits, 1)
        if closure:
            draft = Draft(Parcel())
            self._begin(state)  # The gradients come while the step is running.
        else:
            self._consumed(state, draft, optimizer)
        draft.update = self.capture.protocol.updates
        draft.seconds = self.budget.elapsed
        draft.rates = _rates(optimizer)
        step = self.capture.stepping.running
        if self.capture.tracing and step is not None and not closure:
            draft.showing = self.capture.shown.of(step)
        draft.signals = signals(frame, self.capture.shown.variables)
        draft.moving = Moving(state.held.tensors, wanted=closure)
        state.stepping = draft
        self._name(state.held, frame)
        return True

    def _consumed(self, state: State, draft: Draft, optimizer: Any) -> None:
        tensors, raw = state.held.tensors, draft.raw
        if raw is not None and raw.marks.stand(tensors) and not state.unseen:
            draft.check = Measurement(tensors, draft.parcel, only_norms=True)
            if not draft.check.local or draft.check.agrees(raw, draft.parcel):
                return
            draft.check, state.unseen = None, True
        draft.clipped = Measurement(tensors, draft.parcel)
        factor = Scaling.inside(optimizer)
        draft.inside = draft.parcel.add(factor) if factor is not None else None

    def after_step(self, optimizer: Any) -> None:
        held = self.capture.protocol.find(optimizer)
        state = self._states.get(held.number) if held is not None else None
        if state is None or state.stepping is None:
            return
        draft, state.stepping = state.stepping, None
        with self.budget.spending(state.turn), NoFunctions(), NoOperations(), NoHistory():
            if state.open and state.draft is not None:  # A closure: raw gradients only.
                inner = state.draft
                draft.parcel, draft.raw, draft.scale, draft.losses = inner.parcel, inner.raw, inner.scale, inner.losses
                self._shut(state)
            draft.finish(optimizer)
            state.late.append(draft)
            self._collect(state)
        self.budget.settle(state.turn, len(self._states))

    # -- the backward

    def deposited(self, roots: Any, frame: FrameType) -> None:
        """A backward has ended while at least one optimizer is being watched."""
        if unfit():
            return
        with NoFunctions(), NoOperations(), NoHistory():
            for state in list(self._open):
                if self._foreign(state):
                    continue
                with self.budget.spending(state.turn):
                    self._deposited(state, roots, frame)

    def _foreign(self, state: State) -> bool:
        """Whether another thread steps with these parameters, and may be writing their gradients at this moment."""
        return state.thread != threading.get_ident()

    def _deposited(self, state: State, roots: Any, frame: FrameType) -> None:
        tensors = state.held.tensors
        state.backwards += 1
        if state.backwards > PATIENCE:
            self._shut(state)
            return
        if state.marks is not None and state.marks.stand(tensors):
            return
        state.deposits += 1
        draft = Draft(Parcel())
        if state.draft is not None:
            draft.losses = state.draft.losses
        state.draft = draft
        if state.deposits >= state.expected or state.deposits & (state.deposits - 1) == 0:
            draft.raw = Measurement(tensors, draft.parcel)
            state.marks = draft.raw.marks
            factor = self.scaling.standing(state.held.ref())
            if isinstance(factor, Tensor):
                draft.scale = draft.parcel.add(factor)
            elif factor is not None:
                draft.notes.append(factor)
        else:
            state.marks = Marks(tensors)
        self._loss(draft, roots, frame)

    def _loss(self, draft: Draft, roots: Any, frame: FrameType) -> None:
        loss = roots[0] if isinstance(roots, (list, tuple)) and len(roots) == 1 else roots
        if type(loss) is not Tensor or loss.numel() != 1 or loss.is_meta:
            return
        place = (frame.f_code, frame.f_lasti)
        if place not in self._names:
            site = frames.user_site(frame)
            self._names[place] = (expressions.receiver(site) if site is not None else "") or "loss"
        draft.losses[self._names[place]] = methods.double(methods.detach(loss)).reshape(1)

    # -- what comes back

    def _collect(self, state: State) -> None:
        while state.late and state.late[0].parcel.arrived():
            self._finish(state, state.late.pop(0))

    def _finish(self, state: State, draft: Draft) -> None:
        record = written(draft, self._title(state.held), state.held.tensors)
        if draft.check is not None and draft.contradicted:
            state.unseen = True
        self.budget.late(state.turn, draft.parcel.seconds(), len(self._states))
        self.emit(record)

    def finish(self) -> None:
        """The run has ended: what is still on its way may be waited for."""
        for state in self._states.values():
            for draft in state.late:
                draft.parcel.wait()
            self._collect(state)

    # -- names

    def _name(self, held: Held, frame: FrameType) -> None:
        """Look for names where some are missing, but not again and again where there are none."""
        nameless = sum(not known.name for known in held.known)
        if nameless and self._looked.get(held.number) != nameless:
            self.capture.guard(lambda: self.capture.naming.look(frame), "names")
            self._looked[held.number] = sum(not known.name for known in held.known)

    def _title(self, held: Held) -> str:
        return self.capture.naming.optimizers.get(id(held.ref()), "") or held.kind

    def give_up(self) -> None:
        """What is being sampled is of no use any more."""
        for state in list(self._open):
            self._shut(state)

    def _shut(self, state: State) -> None:
        state.open, state.marks, state.draft = False, None, None
        self._open = [other for other in self._open if other is not state]
        self.capture.count.measured = bool(self._open)


def _rates(optimizer: Any) -> list[float | None]:
    """By position. One that lives on a device is left out: reading it would wait."""
    out: list[float | None] = []
    for group in groups(optimizer):
        rate = group.get("lr")
        readable = isinstance(rate, (int, float)) or (isinstance(rate, Tensor) and rate.device.type == "cpu")
        out += [float(rate) if readable else None] * len(group["params"])
    return out
