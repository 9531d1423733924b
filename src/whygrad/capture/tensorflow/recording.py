"""Every operation as TensorFlow reports it, eager or while a graph is traced."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from whygrad.capture.blame import our_own
from whygrad.capture.guard import Guard
from whygrad.capture.tensorflow import private, vocabulary
from whygrad.capture.tensorflow.departures import Departures
from whygrad.capture.tensorflow.functions import Functions
from whygrad.capture.tensorflow.places import Place, Where, where
from whygrad.capture.tensorflow.shadow import Node, Shadow
from whygrad.capture.tensorflow.tapes import OUTSIDE, PAUSED, UNWATCHED, Tapes
from whygrad.capture.tensorflow.variables import Known, Variables
from whygrad.trace import Kind

Operand = tuple[Node, bool, bool]


class Recorder:
    """Makes a node of each operation."""

    def __init__(self, shadow: Shadow, tapes: Tapes, variables: Variables, guard: Guard) -> None:
        self.shadow = shadow
        self.tapes = tapes
        self.variables = variables
        self.guard = guard
        self.departures = Departures(shadow)
        self.functions = Functions(self)
        self.paused = 0
        self.calls = 0
        self.places: set[Place] = set()
        """The user's lines in which some operation ran."""
        self._written: dict[int, tuple[Node, Any]] = {}
        """Variables that a followed value was assigned to: whoever reads them gets the copy."""
        self.kept: list[tuple[Node, Any]] = []
        """Tensors that a tape follows: it is asked about them when somebody asks it for gradients."""
        self.on_call: Callable[[], None] = lambda: None
        self.on_write: Callable[[Known, Node | None, Where, bool], None] = lambda *_: None

    def callback(
        self, operation: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        """What `op_callbacks` calls; to return nothing leaves the outputs as they are."""
        del op_name
        if self.paused or self.guard.broken is not None:
            return
        frame = sys._getframe(1)
        self.paused += 1
        try:
            self._seen(_text(operation), list(inputs), attrs, list(outputs), graph, frame)
        except Exception as error:
            if not our_own(error):
                raise
            self.guard.fail(error, "an operation")
        finally:
            self.paused -= 1

    def _seen(self, operation: str, inputs: list[Any], attrs: Any, outputs: list[Any], graph: Any, frame: Any) -> None:
        self.calls += 1
        if operation in vocabulary.IGNORED or operation.startswith("__"):
            return
        place = where(frame)
        self.places.update(place.user[:1])
        if operation == "ReadVariableOp":
            self._read(self.functions.outer(inputs[0], graph), outputs[0], place)
        elif operation in vocabulary.ASSIGNING:
            self._assigned(operation, inputs, graph, place)
        elif operation in vocabulary.BRANCHING or operation in vocabulary.LOOPING:
            self.functions.control(operation, inputs, attrs, outputs, graph, place)
        else:
            self._computed(operation, inputs, outputs, graph, place)

    def _read(self, handle: Any, output: Any, place: Where) -> None:
        written = self._written.get(id(handle))
        if written is not None:
            self.shadow.put(output, written[0])
            return
        known = self.variables.of_handle(handle)
        node = self.shadow.new(Kind.INPUT, "read", place)
        _describe(node, output)
        self.shadow.put(output, node)
        if known is None:
            return
        known.used = True
        node.kind, node.name, node.parameter = Kind.PARAMETER, "parameter", known.number
        recording = self.tapes.recording
        blind = [tape for tape in self.tapes.active if not tape.watches]
        if recording and known.trainable and blind and not private.followed(handle):
            self._unwatched(node, output, blind[-1].opened)
            return
        node.requires_grad = bool(recording) and known.trainable
        node.tapes = recording if node.requires_grad else frozenset()
        if node.requires_grad:
            self.kept.append((node, output))

    def _unwatched(self, read: Node, output: Any, opened: Where) -> None:
        """The tape was told to watch only what it is shown, and was not shown this variable."""
        node = self.shadow.new(Kind.COMPUTE, "read", opened)
        node.inputs, node.outside = ((read, True, False),), UNWATCHED
        read.requires_grad = True
        _describe(node, output)
        self.shadow.put(output, node)

    def _assigned(self, operation: str, inputs: list[Any], graph: Any, place: Where) -> None:
        handle = self.functions.outer(inputs[0], graph)
        value = self.operand(inputs[-1], graph)
        self._written.pop(id(handle), None)
        if value is not None and value.requires_grad and value.tapes & self.tapes.recording:
            copy = self.shadow.new(Kind.COPY, "assign", place)
            _describe(copy, inputs[-1])
            copy.inputs = ((value, True, False),)
            self._written[id(handle)] = (copy, handle)
            return
        known = self.variables.of_handle(handle)
        if known is not None:
            self.on_write(known, value, place, operation != "AssignVariableOp")

    def operand(self, tensor: Any, graph: Any) -> Node | None:
        """The node behind a tensor: its own, that of what a function captured, or a new one for data."""
        known = self.shadow.get(tensor)
        if known is not None:
            return known
        outer = self.functions.outer(tensor, graph)
        if outer is not tensor:
            found = self.operand(outer, getattr(outer, "graph", None) if not _eager(outer) else None)
            if found is not None:
                self.shadow.put(tensor, found)
            return found
        node = self.departures.data(tensor)
        if node is not None:
            self.shadow.put(tensor, node)
        return node

    def _computed(self, operation: str, inputs: list[Any], outputs: list[Any], graph: Any, place: Where) -> None:
        operands: list[Operand] = []
        scalar: float | None = None
        outside = False
        for position, tensor in enumerate(inputs):
            selects = position in vocabulary.SELECTING.get(operation, ())
            known = self.shadow.get(tensor) is not None
            node = self.operand(tensor, graph)
            outside |= not known and node is not None and node.kind is Kind.INPUT and node.floating
            if node is None:
                scalar = number(tensor) if scalar is None and _floating(tensor) else scalar
                continue
            operands.append((self._inside(node, tensor), self._carries(node, tensor), selects))
        from_float = any(node.floating for node, _, _ in operands)
        for output in outputs:
            node = self._result(operation, operands, output, place, from_float=from_float)
            node.scalar, node.constant = scalar, outside or scalar is not None

    def _result(self, operation: str, operands: list[Operand], output: Any, place: Where, *, from_float: bool) -> Node:
        kind = vocabulary.kind(operation, into_float=_floating(output), from_float=from_float)
        node = self.shadow.new(kind, vocabulary.written(operation, kind), place)
        _describe(node, output)
        node.inputs = tuple(operands)
        _layer(node, operation)
        self.follow(node, private.differentiable(operation))
        self.shadow.put(output, node)
        if node.requires_grad:
            self.kept.append((node, output))
        return node

    def follow(self, node: Node, differentiable: bool) -> None:
        """Whether a tape goes on following from the operands to the result."""
        recording = self.tapes.recording
        if not recording:
            node.outside = PAUSED if self.tapes.paused else OUTSIDE
            node.paused = self.tapes.paused[-1] if self.tapes.paused else None
            return
        carried = any(carries and not selects for _, carries, selects in node.inputs)
        if carried and differentiable and node.floating and node.kind not in (Kind.DETACH, Kind.LEAVE):
            node.requires_grad, node.tapes = True, recording

    def _carries(self, node: Node, tensor: Any) -> bool:
        """Whether a tape follows the operand. The tape itself knows best, but is told only after the callback."""
        if not self.tapes.recording:
            return node.requires_grad
        carries = node.requires_grad and bool(node.tapes & self.tapes.recording)
        if carries and not _paused() and not private.followed(tensor):
            carries = node.requires_grad = False
        return carries

    def _inside(self, node: Node, tensor: Any) -> Node:
        """The node itself, or where another tape stopped following it."""
        recording = self.tapes.recording
        if not recording or not node.requires_grad or node.tapes & recording or node.parameter is not None:
            return node
        lost = self.shadow.new(Kind.COMPUTE, node.written, node.where)
        lost.inputs, lost.outside = ((node, True, False),), OUTSIDE
        lost.shape, lost.dtype, lost.floating = node.shape, node.dtype, node.floating
        self.shadow.put(tensor, lost)
        return lost


def _paused() -> bool:
    """TensorFlow itself stopped all tapes for a while."""
    return bool(private.pywrap.TFE_Py_TapeSetIsStopped())


def number(tensor: Any) -> float | None:
    """The value of a single number that is known already."""
    if tensor.shape.rank != 0:
        return None
    found = tensor.numpy() if _eager(tensor) else private.constant_value(tensor)
    return float(found) if found is not None else None


def _layer(node: Node, operation: str) -> None:
    """Part of a network: it applies weights, or adds a bias to what a layer gave."""
    weights = any(_weight(operand) for operand, _, _ in node.inputs)
    node.layer = (operation in vocabulary.APPLYING and weights) or operation in vocabulary.WEIGHTED
    if operation in ("AddV2", "Add") and weights and any(operand.layer for operand, _, _ in node.inputs):
        node.name = node.written = "bias_add"
        node.layer = True
    elif node.layer and operation in ("MatMul", "BatchMatMulV2"):
        node.name = node.written = "linear"


def _weight(node: Node) -> bool:
    """A parameter, also reshaped or cast."""
    while node.name in ("reshape", "to", "clone", "read") and node.inputs:
        node = node.inputs[0][0]
    return node.parameter is not None


def _describe(node: Node, tensor: Any) -> None:
    rank = tensor.shape.rank
    node.shape = tuple(-1 if n is None else int(n) for n in tensor.shape) if rank is not None else ()
    node.dtype = tensor.dtype.name
    node.floating = _floating(tensor)


def _floating(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)


def _eager(tensor: Any) -> bool:
    return hasattr(tensor, "_numpy_internal") and isinstance(tensor, tf.Tensor)


def _text(operation: Any) -> str:
    return operation.decode() if isinstance(operation, bytes) else str(operation)
