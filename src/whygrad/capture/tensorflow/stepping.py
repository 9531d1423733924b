"""`apply_gradients`: which optimizer holds whom, what it consumed, and TensorFlow's complaint when there is nothing."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from whygrad.capture import detours
from whygrad.capture.clock import remember
from whygrad.capture.detours import Detours, Function
from whygrad.capture.tensorflow.errors import NOTHING
from whygrad.capture.tensorflow.places import Where, where
from whygrad.trace import Raised, Step

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from whygrad.capture.tensorflow.capture import Capture

Pairs = list[tuple[Any, Any]]


@dataclass
class Held:
    """An optimizer and whom it was ever given."""

    number: int
    ref: weakref.ref[Any]
    kind: str
    created: Where
    name: str = ""
    parameters: dict[int, None] = field(default_factory=dict)
    given: Where | None = None
    """Where it is handed its variables: an optimizer of TensorFlow has none of its own."""
    steps: int = 0
    symbolic: bool = False
    began: int = 0
    """Its own count of steps when it was first seen."""


class Stepping:
    """Watches every kind of optimizer that TensorFlow users have."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.optimizers: list[Held] = []
        self.steps: list[Step] = []
        self._by_id: dict[int, Held] = {}
        self._made: dict[int, Where] = {}
        self._depth = 0

    @property
    def updates(self) -> int:
        return sum(held.steps for held in self.optimizers)

    def attach(self, always: Detours, owner: Any, entrances: dict[str, Callable[..., Pairs]]) -> None:
        """Follow the entrances of one class of optimizers; each says how to read its arguments."""
        always.set(owner, "__init__", self._constructing)
        for name, read in entrances.items():
            always.set(owner, name, partial(self._applying, read=read))

    def _constructing(self, original: Function) -> Function:
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            frame = detours.caller()
            self.capture.guard(lambda: self._made.setdefault(id(optimizer), where(frame)), "an optimizer")
            original(optimizer, *args, **kwargs)

        return init

    def _applying(self, original: Function, read: Callable[..., Pairs]) -> Function:
        def entrance(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if self._depth or self.capture.guard.broken is not None:
                return original(optimizer, *args, **kwargs)
            frame = detours.caller()
            args, kwargs, pairs = _listed(args, kwargs, read)
            return self.applied(original, optimizer, args, kwargs, pairs, frame)

        return entrance

    def applied(self, original: Any, optimizer: Any, args: Any, kwargs: Any, pairs: Pairs, frame: FrameType) -> Any:
        capture = self.capture
        held = capture.guard(lambda: self._before(optimizer, pairs, frame), "a step")
        self._depth += 1
        capture.recorder.paused += 1
        try:
            result = original(optimizer, *args, **kwargs)
        except ValueError as error:
            failed = error
            capture.guard(lambda: self._failed(failed, pairs, frame), "a step")
            raise
        finally:
            self._depth -= 1
            capture.recorder.paused -= 1
        if held is not None:
            capture.guard(lambda: self._after(held, pairs, frame), "a step")
        return result

    def held(self, optimizer: Any) -> Held:
        known = self._by_id.get(id(optimizer))
        if known is None or known.ref() is not optimizer:
            number = len(self.optimizers)
            created = self._made.get(id(optimizer), Where())
            known = Held(number, weakref.ref(optimizer), type(optimizer).__name__, created)
            known.began = iterations(optimizer) or 0
            self._by_id[id(optimizer)] = known
            self.optimizers.append(known)
        return known

    def _before(self, optimizer: Any, pairs: Pairs, frame: FrameType) -> Held:
        held = self.held(optimizer)
        if not held.parameters and not self.capture.tracing and self.capture.window.newcomer(held.number):
            self.capture.open()
        if self.capture.tracing or not held.parameters:
            numbers = [n for _, v in pairs if (n := self.number(v)) is not None]
            held.parameters.update(dict.fromkeys(numbers))
            held.given = where(frame)
            self.capture.variables.remember(set(numbers))
        return held

    def _after(self, held: Held, pairs: Pairs, frame: FrameType) -> None:
        capture = self.capture
        symbolic = any(gradient is not None and _symbolic(gradient) for gradient, _ in pairs)
        held.symbolic |= symbolic
        held.steps += 0 if symbolic else 1
        capture.recorder.paused += 1
        try:
            capture.sampling.stepped(held, pairs, symbolic=symbolic)
        finally:
            capture.recorder.paused -= 1
        if not capture.tracing:
            return
        consumed = self._consumed(pairs)
        capture.clipping.applied(held, pairs, where(frame))
        step = Step(held.number, where(frame).site, consumed, capture.clock.tick(), capture.shadow.serial)
        step.update = sum(one.steps for one in self.optimizers)
        remember(self.steps, step)
        capture.window.step(held.number, symbolic=symbolic)
        capture.close_if_enough()

    def _consumed(self, pairs: Pairs) -> dict[int, tuple[int, ...]]:
        out: dict[int, tuple[int, ...]] = {}
        for gradient, variable in pairs:
            number = self.number(variable)
            if number is None or gradient is None:
                continue
            known = self.capture.variables.known_list[number]
            known.consumed += 1
            origins = sorted(self.capture.gradients.origins(gradient))
            out[number] = tuple(origins)
            silent = [b for b in self.capture.gradients.backwards if b.id in origins and number in b.zeros]
            if known.grad != "nonzero":
                known.grad = "zero" if silent and len(silent) == len(origins) else "nonzero"
        return out

    def number(self, variable: Any) -> int | None:
        known = self.capture.variables.register(variable)
        return known.number if known is not None else None

    def _failed(self, error: ValueError, pairs: Pairs, frame: FrameType) -> None:
        """Every gradient is None, or there was not even a variable."""
        if any(gradient is not None for gradient, _ in pairs):
            return
        place, gradients = where(frame), self.capture.gradients
        numbers = {n for _, v in pairs if (n := self.number(v)) is not None}
        asked = [b for b in gradients.backwards if numbers and numbers.issubset(gradients.sources.get(b.id, ()))]
        message = next((line for line in str(error).splitlines() if NOTHING in line), str(error).splitlines()[0])
        raised = Raised("WG601", message[:200], type(error).__name__, place.site, parameters=frozenset(numbers))
        if asked:
            raised.backward, raised.culprit, raised.subject = asked[-1].id, asked[-1].made, asked[-1].name
        self.capture.errors.note(raised, error)


def iterations(optimizer: Any) -> int | None:
    """How many steps the optimizer itself has counted."""
    try:
        return int(optimizer.iterations.numpy())
    except Exception:  # Old optimizers do not count; inside a graph there is nothing to read yet.
        return None


def _symbolic(gradient: Any) -> bool:
    values = getattr(gradient, "values", gradient)
    return not hasattr(values, "_numpy_internal") and hasattr(values, "graph")


def _listed(args: Any, kwargs: Any, read: Callable[..., Pairs]) -> tuple[Any, Any, Pairs]:
    """An iterator of pairs can be read once: the optimizer gets a list in its place."""
    if args and hasattr(args[0], "__next__"):
        args = (list(args[0]), *args[1:])
    if hasattr(kwargs.get("grads_and_vars"), "__next__"):
        kwargs = {**kwargs, "grads_and_vars": list(kwargs["grads_and_vars"])}
    try:
        pairs = read(*args, **kwargs)
    except Exception:  # Arguments that the optimizer is to complain about itself.
        pairs = []
    return args, kwargs, pairs


def pairs_given(grads_and_vars: Any, *_: Any, **__: Any) -> Pairs:
    """`apply_gradients(zip(gradients, variables))`."""
    return [(gradient, variable) for gradient, variable in grads_and_vars]


def lists_given(grads: Any, trainable_variables: Any = None, **_: Any) -> Pairs:
    """`apply(gradients, variables)` of Keras 3."""
    return list(zip(grads, trainable_variables, strict=True)) if trainable_variables is not None else []


def entrances(owner: Any) -> dict[str, Callable[..., Pairs]]:
    """How this class of optimizers is stepped."""
    found: dict[str, Callable[..., Pairs]] = {"apply_gradients": pairs_given}
    if "apply" in vars(owner):
        found["apply"] = lists_given
    return {name: read for name, read in found.items() if name in vars(owner)}
