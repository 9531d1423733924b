"""Values that leave TensorFlow as numbers and come back as constants."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from whygrad.capture import detours
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.tensorflow import private
from whygrad.capture.tensorflow.places import Where, where
from whygrad.capture.tensorflow.shadow import Node, Shadow
from whygrad.trace import Kind

MOST_VALUES = 64
"""Elements of an array that are remembered or looked at: a match of one unusual number is enough."""
WRITTEN = {"__float__": "__float__", "__int__": "__int__", "__array__": "__array__", "__index__": "__int__"}


class Departures:
    """Remembers what left, by value and by place."""

    def __init__(self, shadow: Shadow) -> None:
        self.shadow = shadow

    def follow(self, during: Detours, wanted: Callable[[], bool], guard: Guard) -> None:
        """`.numpy()`, `float()` and their like all read the tensor by `_numpy`."""

        def reading(original: Function) -> Function:
            def _numpy(tensor: Any) -> Any:
                value = original(tensor)
                if wanted():
                    frame = detours.caller()
                    guard(lambda: self.left(tensor, value, frame), "a departure")
                return value

            return _numpy

        if private.EagerBase is not None:
            during.set(private.EagerBase, "_numpy", reading)

    def left(self, tensor: Any, value: Any, frame: FrameType) -> None:
        source = self.shadow.get(tensor)
        if source is None or getattr(value, "dtype", None) is None or value.dtype.kind != "f":
            return
        place = where(frame)
        node = self.shadow.new(Kind.LEAVE, WRITTEN.get(frame.f_code.co_name, "numpy"), place)
        node.inputs = ((source, source.requires_grad, False),)
        node.shape, node.dtype = source.shape, source.dtype
        for number in np.ravel(value)[:MOST_VALUES].tolist():
            if telling(number):
                self.shadow.left(number, node)
        if place.user and place.library is None:
            self.shadow.departures[place.user[0]] = node

    def data(self, tensor: Any) -> Node | None:
        """A node for a tensor nobody was seen to make; a copy, where its numbers were seen leaving."""
        if not tensor.dtype.is_floating:
            return None
        values = _read(tensor)
        origins = self._origins(values)
        if not origins and tensor.shape.rank == 0 and values is not None:
            return None
        node = self.shadow.new(Kind.COPY if origins else Kind.INPUT, "constant" if origins else "input", Where())
        node.inputs = tuple((origin, False, False) for origin in origins)
        node.shape = tuple(-1 if n is None else int(n) for n in tensor.shape) if tensor.shape.rank is not None else ()
        node.dtype = tensor.dtype.name
        return node

    def _origins(self, values: Any) -> list[Node]:
        if values is None:
            return []
        found = (self.shadow.origin(number) for number in np.ravel(values)[:MOST_VALUES].tolist())
        return list({id(node): node for node in found if node is not None}.values())


def _read(tensor: Any) -> Any:
    """The numbers, where they are at hand: an eager tensor or a constant of a graph."""
    if hasattr(tensor, "_numpy_internal"):
        return tensor._numpy_internal()
    return private.constant_value(tensor)


def telling(value: float) -> bool:
    """Whether a number is unusual enough that meeting it again is no accident."""
    return value == value and abs(value) != float("inf") and (value * 64.0) % 1.0 != 0.0
