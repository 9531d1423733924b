"""The shadow graph of a TensorFlow run: which operation made which living tensor."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

from whygrad.capture.tensorflow.places import Where
from whygrad.capture.tensorflow.vocabulary import canonical
from whygrad.trace import Kind

MOST_VALUES = 20_000


class Node:
    """One operation, eager or of a graph that is being traced. Holds its operands' nodes, never a tensor."""

    __slots__ = (
        "__weakref__", "constant", "dtype", "floating", "gradient", "inputs", "kind", "layer", "name", "outside",
        "parameter", "paused", "requires_grad", "scalar", "serial", "shape", "silenced", "tapes", "where", "written",
    )  # fmt: skip

    def __init__(self, serial: int, kind: Kind, written: str, where: Where) -> None:
        self.serial = serial
        self.kind = kind
        self.written = written
        self.name = canonical(written)
        self.where = where
        self.inputs: tuple[tuple[Node, bool, bool], ...] = ()
        """Operand, whether a tape followed it, whether it only selected."""
        self.requires_grad = False
        """A tape follows the result."""
        self.tapes: frozenset[int] = frozenset()
        """The tapes that do."""
        self.floating = True
        self.shape: tuple[int, ...] = ()
        self.dtype = ""
        self.parameter: int | None = None
        self.layer = False
        self.outside: str = ""
        """Why no tape was recording, as the user would write it."""
        self.paused: Where | None = None
        """Who paused the tape, if that is why."""
        self.constant = False
        self.scalar: float | None = None
        self.silenced: tuple[int, ...] = ()
        self.gradient: tuple[int, int] | None = None
        """Of a gradient: the backward it came from and its parameter."""


class Shadow:
    """Nodes by the identity of the tensors they describe, and numbers that left TensorFlow by value."""

    def __init__(self) -> None:
        self._table: dict[int, tuple[Node, weakref.ref[Any]]] = {}
        self._values: dict[float, Node] = {}
        self.departures: dict[Any, Node] = {}
        """What left TensorFlow, by the place where it did."""
        self.serial = 0

    def new(self, kind: Kind, written: str, where: Where) -> Node:
        self.serial += 1
        return Node(self.serial, kind, written, where)

    def get(self, tensor: Any) -> Node | None:
        entry = self._table.get(id(tensor))
        return entry[0] if entry is not None else None

    def put(self, tensor: Any, node: Node) -> None:
        key = id(tensor)
        self._table[key] = (node, weakref.ref(tensor, partial(self._table.pop, key)))

    def left(self, value: float, node: Node) -> None:
        if len(self._values) < MOST_VALUES:
            self._values[value] = node

    def origin(self, value: float) -> Node | None:
        return self._values.get(value)

    def clear(self) -> None:
        """Forget eager values. What a graph holds stays: functions may call it when nothing else is recorded."""
        self._table = {key: pair for key, pair in self._table.items() if hasattr(pair[1](), "graph")}
        self._values.clear()
        self.departures.clear()
