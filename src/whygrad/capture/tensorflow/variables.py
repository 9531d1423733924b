"""The variables of a run: who they are, where they were made, and how they fared."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from whygrad.capture import detours
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.tensorflow import private
from whygrad.capture.tensorflow.places import Where, where

LARGEST = 1_000_000
"""Elements up to which the first values of a variable are kept, to see at the end whether they moved."""


@dataclass
class Known:
    """A variable (or a tensor that somebody differentiates by) with everything learned about it."""

    number: int
    ref: weakref.ref[Any]
    shape: tuple[int, ...]
    trainable: bool
    created: Where
    label: str = ""
    """TensorFlow's own name for it."""
    name: str = ""
    module: str = ""
    used: bool = False
    consumed: int = 0
    grad: str = "none"
    loaded: bool = False
    derived_from: tuple[int, ...] = ()
    first: Any = None
    written: bool = False
    frozen: Where | None = None
    optimizers: set[int] = field(default_factory=set)


class Variables:
    """Every variable by the identity of its resource handle."""

    def __init__(self) -> None:
        self.known_list: list[Known] = []
        self._by_handle: dict[int, Known] = {}
        self._handles: list[Any] = []
        self._made: dict[int, tuple[weakref.ref[Any], Any, Where]] = {}
        """Variables that nobody has used yet; many, as an optimizer's own, never come to matter."""

    def attach(self, always: Detours, guard: Guard) -> None:
        """Note where variables are made; it is the only time that the line is on the stack."""

        def making(original: Function) -> Function:
            def init(variable: Any, *args: Any, **kwargs: Any) -> None:
                original(variable, *args, **kwargs)
                frame = detours.caller()
                guard(lambda: self._new_variable(variable, frame), "a variable")

            return init

        if private.BaseVariable is not None:
            always.set(private.BaseVariable, "__init__", making)

    def _new_variable(self, variable: Any, frame: FrameType) -> None:
        handle = getattr(variable, "handle", None)
        # An eager `assign` returns another object for the same variable; every step of an optimizer makes dozens.
        if handle is not None and id(handle) not in self._made and id(handle) not in self._by_handle:
            self._made[id(handle)] = (weakref.ref(variable), handle, where(frame))

    def find_existing(self) -> None:
        """Variables from before the watching began."""
        for thing in gc.get_objects():
            if private.BaseVariable is not None and issubclass(type(thing), private.BaseVariable):
                handle = getattr(thing, "handle", None)
                if handle is not None:
                    self._made[id(handle)] = (weakref.ref(thing), handle, Where())

    def register(self, variable: Any) -> Known | None:
        """The entry of a variable, also of Keras' wrappers around one; None for what has no handle."""
        handle = getattr(variable, "handle", None)
        if handle is None:
            return None
        known = self._by_handle.get(id(handle))
        if known is None:
            inner = getattr(variable, "_value", variable)
            known = self._new(inner if hasattr(inner, "handle") else variable, self._place(handle))
            self._by_handle[id(handle)] = known
            self._handles.append(handle)
        return known

    def tensor(self, tensor: Any, watched: bool) -> Known:
        """A tensor that is differentiated by as if it were a variable."""
        known = self._by_handle.get(id(tensor))
        if known is None or known.ref() is not tensor:
            known = self._by_handle[id(tensor)] = self._new(tensor, Where())
            known.trainable = watched
        return known

    def of_handle(self, handle: Any) -> Known | None:
        """The variable whose handle an operation was given."""
        known = self._by_handle.get(id(handle))
        made = self._made.get(id(handle)) if known is None else None
        variable = made[0]() if made is not None and made[1] is handle else None
        return self.register(variable) if variable is not None else known

    def _place(self, handle: Any) -> Where:
        made = self._made.pop(id(handle), None)
        return made[2] if made is not None and made[1] is handle else Where()

    def find(self, thing: Any) -> Known | None:
        """By the variable, a wrapper of it or a watched tensor."""
        handle = getattr(thing, "handle", None)
        return self._by_handle.get(id(handle if handle is not None else thing))

    def _new(self, variable: Any, created: Where) -> Known:
        shape = tuple(int(n) for n in variable.shape) if variable.shape.rank is not None else ()
        trainable = bool(getattr(variable, "trainable", True))
        known = Known(len(self.known_list), weakref.ref(variable), shape, trainable, created)
        known.label = str(getattr(variable, "name", "") or "").removesuffix(":0")
        if not trainable:
            known.frozen = created
        self.known_list.append(known)
        return known

    def remember(self, numbers: set[int]) -> None:
        """Keep the values that training starts from."""
        for number in numbers:
            known = self.known_list[number]
            if known.first is None:
                known.first = _values(known)

    def moved(self, known: Known) -> bool | None:
        """Whether the values are no longer the first ones; None where nobody could look."""
        now = _values(known) if known.first is not None else None
        return None if now is None or known.first is None else not np.array_equal(now, known.first, equal_nan=True)


def _values(known: Known) -> Any:
    variable = known.ref()
    if variable is None or int(np.prod(known.shape)) > LARGEST:
        return None
    import tensorflow as tf

    with tf.init_scope():
        try:
            return np.array(variable.numpy())
        except Exception:  # Not initialized yet, or in a graph that is gone.
            return None
