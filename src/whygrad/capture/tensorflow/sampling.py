"""Telemetry of a TensorFlow run: gradients before and after clipping, of some updates.

Between eager operations a step is measured when the budget allows. Inside a function nothing of ours runs in
Python, so a branch is put into the graph while it is traced: it asks a counter, and calls us when that says so.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from whygrad.capture.budget import Budget, Turn
from whygrad.capture.options import Options
from whygrad.capture.tensorflow.statistics import limit_of, limited, measured
from whygrad.telemetry.record import ParameterSample, Record

if TYPE_CHECKING:
    from whygrad.capture.tensorflow.capture import Capture
    from whygrad.capture.tensorflow.stepping import Held, Pairs

COMPILED = "gradients inside a function compiled by XLA (jit_compile=True) are not sampled"
SPARE = 8
"""Counters kept ready: a function seldom holds more steps than this."""


class Sampling:
    """Called around gradients and steps; `emit` gets every record."""

    def __init__(self, capture: Capture, options: Options) -> None:
        self.capture = capture
        self.budget = Budget(options.budget, options.clock)
        self.emit = options.emit
        self.wanted = options.wanted
        self.limits: list[str] = []
        self._turns: dict[int, Turn] = {}
        self._latest = 0
        self._one_at_a_time = threading.Lock()
        """TensorFlow calls us from its own threads."""
        self._raw: dict[int, Any] = {}
        self._losses: dict[str, Any] = {}
        self._counters: list[tuple[tf.Variable, tf.Variable]] = []
        self._spare: list[tuple[tf.Variable, tf.Variable]] = []

    @property
    def due(self) -> bool:
        """Whether the update that begins may be sampled."""
        if self.budget.share <= 0:
            return False
        return not self._turns or any(self.budget.due(turn) for turn in self._turns.values())

    def differentiated(self, numbers: list[int | None], gradients: list[Any], name: str, loss: Any) -> None:
        """Keep what the tape gave, until a step says what it makes of it."""
        found = zip(numbers, gradients, strict=True)
        self._raw.update({number: _values(g) for number, g in found if number is not None and g is not None})
        self._losses[name] = loss

    def stepped(self, held: Held, pairs: Pairs, *, symbolic: bool) -> None:
        if not self._raw and not self._losses:
            return  # Nobody kept what the tape gave: this update is not sampled.
        present = [(self.capture.stepping.number(v), _values(g)) for g, v in pairs if g is not None]
        rows = [(number, gradient) for number, gradient in present if number is not None]
        raw, losses, self._losses = self._raw, self._losses, {}
        self._raw = {} if not symbolic else raw
        if not rows or self.budget.share <= 0:
            return
        if symbolic:
            self._inside(held, rows, raw, losses)
            return
        turn = self._turns.setdefault(held.number, Turn())
        if self.budget.due(turn):
            with self.budget.spending(turn):
                raws = {number: _array(raw[number]) for number, _ in rows if number in raw}
                arrays = [_array(gradient) for _, gradient in rows]
                numbers = {name: float(_array(loss)) for name, loss in losses.items() if _single(loss)}
                self._write(held, [number for number, _ in rows], raws, arrays, self.capture.stepping.updates, numbers)
            self.budget.settle(turn, len(self._turns))

    def _write(
        self, held: Held, numbers: list[int], raws: dict[int, Any], arrays: list[Any], update: int, losses: Any
    ) -> None:
        optimizer = held.ref()
        used = limited(arrays, limit_of(optimizer))
        self.capture.clipping.measured(numbers, [raws.get(n, a) for n, a in zip(numbers, arrays, strict=True)], used)
        self._latest = max(self._latest, update)  # TensorBoard drops what comes after a later step.
        record = Record(self._latest, self.budget.elapsed, self._title(held), losses=losses)
        for number, gradient in zip(numbers, used, strict=True):
            known = self.capture.variables.known_list[number]
            name = known.name or known.label.replace("/", ".")
            sample = ParameterSample(name, known.module or name, gradient.size, clipped=measured(gradient))
            sample.raw = measured(raws[number]) if number in raws else None
            sample.rate = _rate(optimizer)
            record.parameters.append(sample)
        self.emit(record)

    def _title(self, held: Held) -> str:
        return self.capture.naming.optimizers.get(id(held.ref()), "") or held.kind

    # -- inside a function

    def prepare(self) -> None:
        """Before a function is traced: inside, only the function itself may make variables."""
        if self.wanted and self.budget.share > 0:
            while len(self._spare) < SPARE:
                count, following = (tf.Variable(0, dtype=tf.int64, trainable=False) for _ in range(2))
                self._spare.append((count, following))

    def _inside(self, held: Held, rows: list[tuple[int, Any]], raw: dict[int, Any], losses: dict[str, Any]) -> None:
        """One branch in the graph: most of the time it is a comparison of two counters."""
        if not self.wanted:
            return
        if self.capture.compiled:
            if COMPILED not in self.limits:
                self.limits.append(COMPILED)
            return
        graph = rows[0][1].graph
        there = [n for n, _ in rows if n in raw and getattr(raw[n], "graph", None) is graph]
        named = [name for name, loss in losses.items() if getattr(loss, "graph", None) is graph and _single(loss)]
        if not self._spare:
            return
        count, following = self._spare.pop()
        self._counters.append((count, following))
        numbers, turn = [n for n, _ in rows], self._turns.setdefault(held.number, Turn())

        def host(update: Any, *arrays: Any) -> Any:
            return self._called(held, turn, numbers, there, named, int(update), list(arrays))

        inputs = [g for _, g in rows] + [raw[n] for n in there] + [losses[name] for name in named]
        now = count.assign_add(1)

        def sampled() -> Any:
            return following.assign(tf.numpy_function(host, [now, *inputs], tf.int64))

        tf.cond(now > following, sampled, lambda: following.read_value())

    def _called(
        self, held: Held, turn: Turn, numbers: list[int], there: list[int], named: list[str], update: int, arrays: Any
    ) -> Any:
        """On the host: measure, and say up to which update nothing is to be measured."""
        if self.capture.guard.broken is None and self.capture.window.policy != "stopped":
            with self._one_at_a_time, self.budget.spending(turn):
                applied, rest = arrays[: len(numbers)], arrays[len(numbers) :]
                raws = dict(zip(there, rest, strict=False))
                losses = {name: float(value) for name, value in zip(named, rest[len(there) :], strict=True)}
                self.capture.guard(lambda: self._write(held, numbers, raws, applied, update, losses), "telemetry")
            self.budget.settle(turn, len(self._turns))
        skipped = 0 if self.budget.share >= 1 else self.budget.skip(turn, update)
        return np.int64(update + skipped)


def _values(gradient: Any) -> Any:
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient


def _array(tensor: Any) -> Any:
    return tensor._numpy_internal() if hasattr(tensor, "_numpy_internal") else np.asarray(tensor)


def _single(loss: Any) -> bool:
    return bool(getattr(loss, "shape", None) is not None and loss.shape.rank == 0)


def _rate(optimizer: Any) -> float | None:
    rate = getattr(optimizer, "learning_rate", None)
    try:
        return float(rate.numpy() if hasattr(rate, "numpy") else rate)  # type: ignore[union-attr, arg-type]
    except Exception:  # A schedule, or something that cannot be read from here.
        return None
