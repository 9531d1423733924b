"""The open tapes: which are recording, where they were opened, and who paused them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from whygrad.capture.guard import Guard
from whygrad.capture.patches import Patches
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

    def patch(self, patches: Patches) -> None:
        tapes, guard = self, self.guard
        push, pop = tf.GradientTape._push_tape, tf.GradientTape._pop_tape
        stop = tf.GradientTape.stop_recording

        def _push_tape(self: Any) -> None:
            push(self)
            if tapes.wanted():
                frame = sys._getframe(1)
                guard(lambda: tapes.opened(self, where(frame)), "opening a tape")

        def _pop_tape(self: Any) -> None:
            pop(self)
            if tapes.active:
                guard(lambda: tapes.closed(self), "closing a tape")

        @contextmanager
        @functools.wraps(stop)
        def stop_recording(self: Any) -> Iterator[None]:
            tapes.paused.append(where(sys._getframe(2)) if tapes.wanted() else Where())
            try:
                with stop(self):
                    yield
            finally:
                tapes.paused.pop()

        patches.set(tf.GradientTape, "_push_tape", _push_tape)
        patches.set(tf.GradientTape, "_pop_tape", _pop_tape)
        patches.set(tf.GradientTape, "stop_recording", stop_recording)

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
