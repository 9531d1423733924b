"""`tape.gradient`: what it was asked, what came back, and where the tape lost its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from whygrad.capture import detours
from whygrad.capture.clock import remember
from whygrad.capture.detours import Detours, Function
from whygrad.capture.tensorflow import private
from whygrad.capture.tensorflow.errors import SPENT
from whygrad.capture.tensorflow.places import Where, where
from whygrad.capture.tensorflow.shadow import Node
from whygrad.capture.tensorflow.tapes import OUTSIDE
from whygrad.source import expressions
from whygrad.trace import Backward, Kind, Raised

if TYPE_CHECKING:
    from whygrad.capture.tensorflow.capture import Capture

MOST_ASKED = 2000
"""Intermediate values that are asked about in one call."""


class Gradients:
    """Turns calls of `tape.gradient` into backwards of the trace."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.backwards: list[Backward] = []
        self.roots: dict[int, Node] = {}
        self.sources: dict[int, list[int]] = {}
        """Parameters that a backward was asked about, by its number."""
        self.opened: dict[int, Where] = {}
        """Where the tape of a backward was opened."""
        self.symbolic: set[int] = set()
        """Backwards inside a graph: each stands for as many as the function runs."""
        self.misshapen: dict[int, tuple[int, ...]] = {}
        self.calls = 0

    def attach(self, always: Detours) -> None:
        always.set(tf.GradientTape, "gradient", self._differentiating)

    def _differentiating(self, original: Function) -> Function:
        capture = self.capture

        def gradient(tape: Any, target: Any, sources: Any, output_gradients: Any, unconnected_gradients: Any) -> Any:
            self.calls += 1
            frame = detours.caller()
            if not capture.tracing or capture.recorder.paused or capture.guard.broken is not None:
                found = original(tape, target, sources, output_gradients, unconnected_gradients)
                capture.guard(lambda: self.passed(target, sources, found, frame), "tape.gradient")
                return found
            unconnected = unconnected_gradients or tf.UnconnectedGradients.NONE
            return self.asked(original, tape, target, sources, output_gradients, unconnected, frame)

        return gradient

    def passed(self, target: Any, sources: Any, found: Any, frame: Any) -> None:
        """While nothing is recorded: the budget may want these numbers, and a loss that is new another look."""
        capture = self.capture
        if capture.sampling.due and not capture.recorder.paused:
            numbers = [known.number if (known := capture.variables.find(s)) else None for s in tf.nest.flatten(sources)]
            loss = tf.nest.flatten(target)[0]
            capture.sampling.differentiated(numbers, tf.nest.flatten(found), _name(where(frame)), loss)
        capture.passed(frame)

    def asked(
        self, original: Any, tape: Any, target: Any, sources: Any, output: Any, unconnected: Any, frame: Any
    ) -> Any:
        """The user's own call, with the values in between as further sources."""
        capture = self.capture
        place = where(frame)
        flat = tf.nest.flatten(sources)
        between = capture.guard(lambda: self._between(target, flat), "tape.gradient") or []
        capture.recorder.paused += 1
        try:
            found = original(tape, target, [*flat, *(tensor for _, tensor in between)], output, unconnected)
        except (RuntimeError, tf.errors.InvalidArgumentError) as error:
            failed = error
            capture.guard(lambda: self._failed(failed, tape, target, flat, place, frame), "tape.gradient")
            raise
        finally:
            capture.recorder.paused -= 1
        own, inner = found[: len(flat)], found[len(flat) :]
        capture.guard(lambda: self._noted(tape, target, flat, own, between, inner, place, frame), "tape.gradient")
        return tf.nest.pack_sequence_as(sources, own) if tf.nest.is_nested(sources) else own[0]

    def _failed(self, error: Exception, tape: Any, target: Any, flat: list[Any], place: Where, frame: Any) -> None:
        if isinstance(error, RuntimeError):
            self._spent(error, tape, place)
            return
        root = self.capture.shadow.get(tf.nest.flatten(target)[0])
        wanted = {known.number for source in flat if (known := self.capture.variables.register(source)) is not None}
        way = _carriers(root, wanted) if root is not None else {}
        strangers = [node for node in way.values() if node.kind is Kind.FUNCTION]
        if not strangers:
            return
        self._noted(tape, target, flat, [None] * len(flat), [], [], place, frame)
        for node in strangers:
            node.silenced = tuple(range(len(node.inputs)))
        message = str(error).splitlines()[0][:200]
        raised = Raised("WG601", message, type(error).__name__, place.site, parameters=frozenset(wanted))
        raised.backward = self.backwards[-1].id
        self.capture.errors.note(raised, error)

    def _spent(self, error: RuntimeError, tape: Any, place: Where) -> None:
        """A tape that is not persistent was asked a second time."""
        opened = self.capture.tapes.of(tape)
        if SPENT not in str(error) or opened is None:
            return
        raised = Raised("WG603", str(error).splitlines()[0][:200], type(error).__name__, place.site)
        raised.culprit, raised.subject = opened.opened.site, _name(place)
        first = next((b.site for b in self.backwards if self.opened.get(b.id) is opened.opened), None)
        raised.labels = [(first, "asked here for the first time")] if first is not None else []
        self.capture.errors.note(raised, error)

    def _between(self, target: Any, flat: list[Any]) -> list[tuple[Node, Any]]:
        """Values that the tape follows, of the graph that the loss is in."""
        loss = tf.nest.flatten(target)[0]
        graph = _graph(loss)
        own = {id(source) for source in flat}
        root = self.capture.shadow.get(loss)
        if root is None or not root.requires_grad:
            return []
        wanted = {known.number for source in flat if (known := self.capture.variables.register(source)) is not None}
        carriers = _carriers(root, wanted)
        kept = [(n, t) for n, t in self.capture.recorder.kept if id(n) in carriers and n.parameter is None]
        return [(n, t) for n, t in kept if _graph(t) is graph and id(t) not in own][-MOST_ASKED:]

    def _noted(
        self,
        tape: Any,
        target: Any,
        flat: list[Any],
        own: list[Any],
        between: list[tuple[Node, Any]],
        inner: list[Any],
        place: Where,
        frame: Any,
    ) -> None:
        capture = self.capture
        capture.naming.look(frame)
        loss = tf.nest.flatten(target)[0]
        root = capture.shadow.get(loss) or capture.recorder.operand(loss, _graph(loss)) or self._number_only(place)
        numbers = [self._number(source) for source in flat]
        capture.variables.remember({n for n in numbers if n is not None})
        number = len(self.backwards)
        backward = Backward(number, place.site, root.serial if root is not None else None, _name(place))
        backward.made = root.where.site if root is not None else None
        backward.order, backward.library = capture.clock.tick(), place.inner
        backward.serial, backward.update = capture.shadow.serial, capture.stepping.updates
        if root is not None:
            self.roots[number] = root
        self._deposit(backward, numbers, own, root, place)
        capture.sampling.differentiated(numbers, own, backward.name, loss)
        _silence(between, inner)
        remember(self.backwards, backward)
        self.sources[number] = [n for n in numbers if n is not None]
        if _graph(loss) is not None:
            self.symbolic.add(number)
        opened = capture.tapes.of(tape)
        if opened is not None:
            opened.asked += 1
            self.opened[number] = opened.opened
        capture.window.backward(_key(place), symbolic=_graph(loss) is not None)

    def _number_only(self, place: Where) -> Node:
        """A loss that came from plain Python: the source may say from where."""
        node = self.capture.shadow.new(Kind.INPUT, "number", place)
        node.constant = True
        return node

    def _number(self, source: Any) -> int | None:
        """The parameter of a source; a plain tensor becomes one when somebody differentiates by it."""
        variables = self.capture.variables
        known = variables.register(source)
        if known is None and hasattr(source, "dtype"):
            node = self.capture.shadow.get(source)
            if node is None or node.kind is not Kind.INPUT:
                return None
            known = variables.tensor(source, node.requires_grad)
            node.kind, node.parameter = Kind.PARAMETER, known.number
            known.used = True
        return known.number if known is not None else None

    def _gradient(self, backward: Backward, number: int | None, values: Any, root: Node | None, place: Where) -> None:
        """A gradient is a value as well: another tape may follow it, and then it hangs on all that the loss did."""
        node = self.capture.shadow.new(Kind.COMPUTE, "gradient", place)
        node.gradient, node.outside = (backward.id, number) if number is not None else None, OUTSIDE
        recording = self.capture.tapes.recording
        if recording and private.followed(values):
            node.requires_grad, node.tapes = True, recording
        node.inputs = ((root, node.requires_grad, False),) if root is not None else ()
        self.capture.shadow.put(values, node)

    def _deposit(
        self, backward: Backward, numbers: list[int | None], own: list[Any], root: Node | None, place: Where
    ) -> None:
        deposits, zeros = set(), set()
        for number, gradient in zip(numbers, own, strict=True):
            values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
            if number is None and values is not None:
                self._gradient(backward, None, values, root, place)
            if number is None or values is None:
                continue
            known = self.capture.variables.known_list[number]
            shape = tuple(values.shape)
            if values is gradient and None not in shape and shape != known.shape:
                self.misshapen[number] = shape
                zeros.add(number)
            deposits.add(number)
            if _zero(values):
                zeros.add(number)
            self._gradient(backward, number, values, root, place)
        backward.deposits, backward.zeros = frozenset(deposits), frozenset(zeros)

    def origins(self, gradient: Any) -> frozenset[int]:
        """The backwards that a gradient was made from, however it was clipped on the way."""
        values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
        node = self.capture.shadow.get(values)
        found, stack, seen = set(), [node] if node is not None else [], set()
        while stack:
            current = stack.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            if current.gradient is not None:
                found.add(current.gradient[0])
            else:
                stack.extend(operand for operand, _, _ in current.inputs)
        return frozenset(found)


def _carriers(root: Node, wanted: set[int]) -> dict[int, Node]:
    """Nodes that gradient should pass on its way back from here to these parameters, and no others.

    To ask about others would put operations into a graph that is being traced, and the seeds of random operations
    depend on how many there are.
    """
    nodes, stack = {id(root): root}, [root]
    while stack:
        for operand, carries, _ in stack.pop().inputs:
            if carries and id(operand) not in nodes:
                nodes[id(operand)] = operand
                stack.append(operand)
    leading: dict[int, Node] = {}
    for node in sorted(nodes.values(), key=lambda node: node.serial):
        if node.parameter in wanted or any(carries and id(o) in leading for o, carries, _ in node.inputs):
            leading[id(node)] = node
    return leading


def _silence(between: list[tuple[Node, Any]], inner: list[Any]) -> None:
    """Operations whose result got a gradient and that passed none on to an operand."""
    alive = {id(node): _fits(gradient, tensor) for (node, tensor), gradient in zip(between, inner, strict=True)}
    for node, _ in between:
        if alive[id(node)] and node.kind in (Kind.COMPUTE, Kind.FUNCTION):
            dead = (i for i, (o, carries, _) in enumerate(node.inputs) if carries and alive.get(id(o)) is False)
            node.silenced = tuple(dead)


def _fits(gradient: Any, tensor: Any) -> bool:
    """Whether it is there, and has the shape of what it belongs to."""
    return gradient is not None and tensor.shape.is_compatible_with(gradient.shape)


def _zero(values: Any) -> bool:
    return hasattr(values, "_numpy_internal") and not np.any(values._numpy_internal())


def _graph(tensor: Any) -> Any:
    """The graph a tensor belongs to; None for an eager one."""
    return None if hasattr(tensor, "_numpy_internal") else getattr(tensor, "graph", None)


def _key(place: Where) -> object:
    return place.user[0] if place.user else place.library


def _name(place: Where) -> str:
    """What the user calls the loss: the first argument of `tape.gradient`, unless that stands inside Keras."""
    return expressions.first_argument(place.inner or place.site, "gradient") or "loss"
