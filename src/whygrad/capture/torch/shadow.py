"""The shadow graph while the run goes on: it lives and dies with the tensors it describes."""

from __future__ import annotations

import weakref
from collections import OrderedDict, deque
from collections.abc import Iterator
from functools import partial
from types import CodeType
from typing import Any

import torch

from whygrad.capture.frames import Place
from whygrad.capture.torch.regions import OpenRegion
from whygrad.capture.torch.spelling import canonical
from whygrad.capture.torch.unheard import wrapper
from whygrad.trace import Kind
from whygrad.trace.facts import Facts

MOST_NODES = 100_000
"""Nodes further back than this are forgotten, so that a recurrent state carried through a long
rollout costs bounded memory (66 MB for a full one, measured with tracemalloc on CPython 3.11)."""
MOST_VALUES = 50_000


class Node:
    """One operation. Holds its operands' nodes, never a tensor."""

    __slots__ = (
        "__weakref__", "code", "constant", "deposits", "dtype", "facts", "floating", "hook", "inner", "inputs", "kind",
        "lasti", "name", "off", "overwritten", "parameter", "ref", "region", "requires_grad", "scalar", "serial",
        "shape", "silenced", "spread", "training", "written",
    )  # fmt: skip

    def __init__(self, serial: int, kind: Kind, written: str) -> None:
        self.serial = serial
        self.kind = kind
        self.written = written
        self.name = canonical(written)
        self.code: CodeType | None = None
        self.lasti = 0
        self.inner: Place | None = None
        self.inputs: tuple[tuple[Node, bool, bool], ...] = ()
        """Operand, whether it carried gradient history, whether it only selected."""
        self.requires_grad = False
        self.floating = True
        self.shape: Any = ()
        self.dtype: Any = None
        self.region: OpenRegion | None = None
        self.parameter: int | None = None
        self.constant = False
        self.overwritten: Node | None = None
        self.silenced: dict[int, str] | None = None
        self.hook: tuple[CodeType | None, int, Place | None] | None = None
        self.ref: weakref.ref[torch.Tensor] | None = None
        self.deposits: tuple[int, ...] | None = None
        """Of a gradient: the backwards it came from."""
        self.scalar: float | None = None
        self.spread: float | None = None
        self.off = 0.0
        self.training: bool | None = None
        self.facts: Facts | None = None


class Shadow:
    """Which node describes which living tensor, and which Python numbers came out of torch."""

    def __init__(self) -> None:
        self._table: dict[int, tuple[Node, weakref.ref[torch.Tensor]]] = {}
        self._recent: deque[weakref.ref[Node]] = deque()
        self._values: OrderedDict[float, Node] = OrderedDict()
        self._memory: OrderedDict[int, tuple[Node, weakref.ref[Any]]] = OrderedDict()
        self.serial = 0
        self.truncated = False
        self.wrapped = False
        """There have been tensors whose operations are not torch's own."""

    def new(self, kind: Kind, written: str) -> Node:
        self.serial += 1
        node = Node(self.serial, kind, written)
        recent = self._recent
        recent.append(weakref.ref(node))
        if len(recent) > MOST_NODES:
            oldest = recent.popleft()()
            if oldest is not None and oldest.inputs:
                oldest.inputs = ()
                self.truncated = True
        return node

    def get(self, tensor: torch.Tensor) -> Node | None:
        entry = self._table.get(id(tensor))
        return entry[0] if entry is not None else None

    def put(self, tensor: torch.Tensor, node: Node) -> None:
        key = id(tensor)
        entry = self._table.get(key)
        self.wrapped = self.wrapped or wrapper(tensor)
        # No line of Python may run while a tensor dies: what a signal handler raises there would be lost.
        node.ref = entry[1] if entry is not None else weakref.ref(tensor, partial(self._table.pop, key))
        self._table[key] = (node, node.ref)

    def forget(self, tensor: torch.Tensor) -> None:
        entry = self._table.pop(id(tensor), None)
        if entry is not None:
            entry[0].ref = None

    def living(self) -> Iterator[tuple[Node, torch.Tensor]]:
        for node, ref in list(self._table.values()):
            tensor = ref()
            if tensor is not None:
                yield node, tensor

    def left(self, value: float, node: Node) -> None:
        """A number left torch: should exactly it come back, we know it again."""
        if telling(value):
            self._values[value] = node
            if len(self._values) > MOST_VALUES:
                self._values.popitem(last=False)

    def left_memory(self, address: int, node: Node, array: Any) -> None:
        """An array that shares memory with a tensor: known by its address as long as it lives."""
        self._memory[address] = (node, weakref.ref(array))
        if len(self._memory) > MOST_VALUES:
            self._memory.popitem(last=False)

    def origin(self, value: float) -> Node | None:
        return self._values.get(value)

    def origin_of_memory(self, address: int) -> Node | None:
        entry = self._memory.get(address)
        return entry[0] if entry is not None and entry[1]() is not None else None

    def clear(self) -> None:
        """Forget all but the detached views of parameters: whoever keeps them uses them in later updates as well."""
        for key, entry in list(self._table.items()):
            if not _views_parameter(entry[0]):
                self._table.pop(key, None)
        self._recent.clear()
        self._values.clear()
        self._memory.clear()


def _views_parameter(node: Node) -> bool:
    return node.kind is Kind.DETACH and any(operand.parameter is not None for operand, _, _ in node.inputs)


def telling(value: float) -> bool:
    """Whether a number is unusual enough that meeting it again is no accident."""
    return value == value and abs(value) != float("inf") and (value * 64.0) % 1.0 != 0.0
