"""What runs inside functions, branches and loops, laid out as if it had been written in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whygrad.capture import detours
from whygrad.capture.detours import Detours, Function
from whygrad.capture.tensorflow import private, vocabulary
from whygrad.capture.tensorflow.places import Where, where
from whygrad.capture.tensorflow.shadow import Node
from whygrad.trace import Kind

if TYPE_CHECKING:
    from whygrad.capture.tensorflow.recording import Recorder

MOST_NODES = 20_000


class Functions:
    """Connects a call's outputs with the inside of the graph that was called."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.truncated = False

    def follow(self, during: Detours) -> None:
        if private.AtomicFunction is not None:
            during.set(private.AtomicFunction, "call_flat", self._calling)

    def _calling(self, original: Function) -> Function:
        recorder = self.recorder

        def call_flat(function: Any, *args: Any) -> Any:
            outputs = original(function, *args)
            if not recorder.paused and recorder.guard.broken is None:
                place = where(detours.caller())
                recorder.paused += 1
                try:
                    recorder.guard(lambda: self.called(function._cached_graph, args, outputs, place), "a function")
                finally:
                    recorder.paused -= 1
                recorder.on_call()
            return outputs

        return call_flat

    def outer(self, tensor: Any, graph: Any) -> Any:
        """What a graph captured from outside, if the tensor is such a capture."""
        while graph is not None and hasattr(graph, "captures"):
            external = next((out for out, inside in graph.captures if inside is tensor), None)
            if external is None:
                return tensor
            tensor = external
            graph = None if hasattr(tensor, "_numpy_internal") else getattr(tensor, "graph", None)
        return tensor

    def called(self, graph: Any, args: Any, outputs: Any, place: Where) -> None:
        if graph is None or not isinstance(outputs, (list, tuple)):
            return
        given = self._given(graph.inputs, args)
        self._link(graph.inputs, given)
        for output, inner in zip(outputs, graph.outputs, strict=False):
            self._output(output, [inner], given, place)

    def control(self, operation: str, inputs: Any, attrs: Any, outputs: Any, graph: Any, place: Where) -> None:
        """`tf.cond` and `tf.while_loop`: each output may come from any branch; a loop's also from before the loop."""
        named = dict(zip(attrs[::2], attrs[1::2], strict=False))
        keys = vocabulary.BRANCHING.get(operation) or vocabulary.LOOPING[operation]
        args = list(inputs) if operation in vocabulary.LOOPING else list(inputs)[1:]
        bodies = [graph._get_function(named[key].func.name) for key in keys if key in named]
        graphs = [body._cached_graph for body in bodies if body is not None and body._cached_graph is not None]
        for index, output in enumerate(outputs):
            given: dict[int, Node] = {}
            for inner in graphs:
                given.update(self._given(inner.inputs, args, graph))
            inside = [inner.outputs[index] for inner in graphs if index < len(inner.outputs)]
            before = [args[index]] if operation in vocabulary.LOOPING and index < len(args) else []
            self._output(output, inside, given, place, before=before, graph=graph)

    def _given(self, inside: Any, args: Any, graph: Any = None) -> dict[int, Node]:
        """Nodes of the arguments by the placeholders that stand for them."""
        out: dict[int, Node] = {}
        for placeholder, argument in zip(inside, args, strict=False):
            within = None if hasattr(argument, "_numpy_internal") else getattr(argument, "graph", graph)
            node = self.recorder.operand(argument, within) if hasattr(argument, "dtype") else None
            if node is not None:
                out[id(placeholder)] = node
        return out

    def _link(self, inside: Any, given: dict[int, Node]) -> None:
        """Arguments of a function that holds its own tape: what was computed before goes on inside as data."""
        for placeholder in inside:
            node, argument = self.recorder.shadow.get(placeholder), given.get(id(placeholder))
            if node is not None and argument is not None and not node.inputs and node.serial > argument.serial:
                node.inputs = ((argument, argument.requires_grad, False),)

    def _output(
        self, output: Any, inside: list[Any], given: dict[int, Node], place: Where, before: Any = (), graph: Any = None
    ) -> None:
        shadow = self.recorder.shadow
        copies: dict[int, Node] = {}
        placed = {id(shadow.get(tensor)): given[key] for key, tensor in self._placeholders(given, inside)}
        roots = [self._copy(node, placed, copies, place) for t in inside if (node := self._node(t, given)) is not None]
        roots += [node for t in before if (node := self.recorder.operand(t, graph)) is not None]
        if not roots or not hasattr(output, "dtype"):
            return
        result = shadow.new(Kind.COMPUTE, "clone" if len(roots) == 1 else "where", place)
        result.shape, result.dtype, result.floating = roots[0].shape, roots[0].dtype, roots[0].floating
        result.inputs = tuple((root, root.requires_grad, False) for root in roots)
        self.recorder.follow(result, True)
        shadow.put(output, result)
        if result.requires_grad:
            self.recorder.kept.append((result, output))

    def _placeholders(self, given: dict[int, Node], inside: list[Any]) -> list[tuple[int, Any]]:
        graphs = {id(t.graph): t.graph for t in inside if hasattr(t, "graph")}
        tensors = {id(t): t for graph in graphs.values() for t in graph.inputs}
        return [(key, tensors[key]) for key in given if key in tensors and self.recorder.shadow.get(tensors[key])]

    def _node(self, tensor: Any, given: dict[int, Node]) -> Node | None:
        return given.get(id(tensor)) or self.recorder.shadow.get(tensor)

    def _copy(self, node: Node, placed: dict[int, Node], copies: dict[int, Node], place: Where) -> Node:
        """The inside of a graph once more, with the arguments of this call and the tapes of this moment."""
        stack = [node]
        while stack:
            current = stack[-1]
            key = id(current)
            if key in copies or key in placed:
                stack.pop()
                continue
            waiting = [o for o, _, _ in current.inputs if id(o) not in copies and id(o) not in placed]
            if waiting and len(copies) < MOST_NODES:
                stack.extend(waiting)
                continue
            self.truncated |= bool(waiting)
            stack.pop()
            copies[key] = self._again(current, placed, copies, place)
        return placed.get(id(node)) or copies[id(node)]

    def _again(self, node: Node, placed: dict[int, Node], copies: dict[int, Node], place: Where) -> Node:
        tapes = self.recorder.tapes
        user = node.where.user if node.where.user else place.user
        copy = self.recorder.shadow.new(node.kind, node.written, Where(user, node.where.library))
        copy.shape, copy.dtype, copy.floating, copy.layer = node.shape, node.dtype, node.floating, node.layer
        copy.parameter, copy.scalar, copy.constant = node.parameter, node.scalar, node.constant
        operands = [(placed.get(id(o)) or copies.get(id(o)), selects) for o, _, selects in node.inputs]
        copy.inputs = tuple((o, o.requires_grad and bool(o.tapes & tapes.recording), s) for o, s in operands if o)
        if copy.parameter is not None:
            known = self.recorder.variables.known_list[copy.parameter]
            copy.requires_grad = known.trainable and bool(tapes.recording)
            copy.tapes = tapes.recording if copy.requires_grad else frozenset()
        else:
            self.recorder.follow(copy, node.kind is not Kind.DISCRETE)
        return copy
