"""The open tapes: which are recording, where they were opened, and who paused them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from whygrad.capture import detours
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.tensorflow.places import Where, where

if TYPE_CHECKING:
    from collections.abc import Iterator

OUTSIDE = "outside the tape"
PAUSED = "tape.stop_recording()"
UNWATCHED = "watch_accessed_variables=False"


@dataclass
class Open:
    """A tape from its `with` on."""

    number: int
    opened: Where
    watches: bool
    persistent: bool
    asked: int = 0
    """How often it was asked for gradients."""


class Tapes:
    """Follows `with tf.GradientTape()` and `tape.stop_recording()`."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.wanted: Callable[[], bool] = lambda: True
        """Whether operations are recorded: else nobody asks which tape is open."""
        self.active: list[Open] = []
        self.paused: list[Where] = []
        self._known: dict[int, tuple[Any, Open]] = {}
        self._count = 0

    @property
    def recording(self) -> frozenset[int]:
        """The tapes that record now."""
        return frozenset() if self.paused else frozenset(tape.number for tape in self.active)

    def attach(self, always: Detours) -> None:
        always.set(tf.GradientTape, "_push_tape", self._pushing)
        always.set(tf.GradientTape, "_pop_tape", self._popping)
        always.set(tf.GradientTape, "stop_recording", self._stopping)

    def _pushing(self, original: Function) -> Function:
        def _push_tape(tape: Any) -> None:
            original(tape)
            if self.wanted():
                frame = detours.caller()
                self.guard(lambda: self.opened(tape, where(frame)), "opening a tape")

        return _push_tape

    def _popping(self, original: Function) -> Function:
        def _pop_tape(tape: Any) -> None:
            original(tape)
            if self.active:
                self.guard(lambda: self.closed(tape), "closing a tape")

        return _pop_tape

    def _stopping(self, original: Function) -> Function:
        @contextmanager
        def stopped(tape: Any, place: Where) -> Iterator[None]:
            self.paused.append(place)
            try:
                with original(tape):
                    yield
            finally:
                self.paused.pop()

        def stop_recording(tape: Any) -> Any:
            return stopped(tape, where(detours.caller()) if self.wanted() else Where())

        return stop_recording

    def opened(self, tape: Any, place: Where) -> None:
        known = self.of(tape)
        if known is None:
            self._count += 1
            known = Open(self._count, place, bool(tape._watch_accessed_variables), bool(tape._persistent))
            self._known[id(tape)] = (tape, known)
        self.active.append(known)

    def closed(self, tape: Any) -> None:
        known = self.of(tape)
        if known in self.active:
            self.active.remove(known)

    def of(self, tape: Any) -> Open | None:
        found = self._known.get(id(tape))
        return found[1] if found is not None and found[0] is tape else None

    def forget(self) -> None:
        """Tapes are held to know them again; between windows none is."""
        open_now = {tape.number for tape in self.active}
        self._known = {key: pair for key, pair in self._known.items() if pair[1].number in open_now}
