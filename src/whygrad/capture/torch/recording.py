"""The recorder: every torch call becomes a node of the shadow graph, after it has run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any

import torch

from whygrad.capture import frames
from whygrad.capture.blame import our_own
from whygrad.capture.guard import Guard
from whygrad.capture.search import is_a, real
from whygrad.capture.torch import crossings, functions, measuring, spelling
from whygrad.capture.torch.elsewhere import listened
from whygrad.capture.torch.extraction import Departures
from whygrad.capture.torch.observing import observe
from whygrad.capture.torch.parameters import Parameters, continuous, shape
from whygrad.capture.torch.picking import alone
from whygrad.capture.torch.regions import Regions
from whygrad.capture.torch.shadow import Node, Shadow
from whygrad.capture.torch.vocabulary import ALIASING, ARITHMETIC, CASTS, KINDS, PURE, Role, role
from whygrad.trace import Kind

Tensor = torch.Tensor


class Recorder:
    """Turns finished calls into nodes. Reads shapes, types and flags, never values on the way."""

    def __init__(self, shadow: Shadow, regions: Regions, parameters: Parameters, guard: Guard) -> None:
        self.guard = guard
        self.shadow = shadow
        self.regions = regions
        self.parameters = parameters
        self.departures: Departures = {}
        self.attentive = True
        """Activations and distributions are looked at in this update."""
        self.ran: set[CodeType | None] = set()
        """The user's functions in which some operation ran."""
        self.singles: dict[frames.Place, tuple[int, tuple[int, ...]]] = {}
        """Where a choice is made along a dimension of size one: how often, and from what shape; 0 if not every time."""
        self.results: dict[frames.Place, str] = {}
        """Where the user calls for a new tensor, which has no effect unless the result is taken."""
        self._places: set[tuple[int, ...]] = set()
        """Where operations have run; their codes live in `ran`, or in modules that do not go away."""
        self.on_place: Callable[[], None] = lambda: None
        self.on_use: Callable[[int], None] = lambda _: None
        self.on_write: Callable[[Tensor, Node, list[Node], FrameType], None] = lambda *_: None
        self.on_freeze: Callable[[Tensor, bool, FrameType], None] = lambda *_: None
        self.on_gradient_read: Callable[[Tensor, Any], None] = lambda *_: None
        self.on_gradient_write: Callable[[Tensor, Any, FrameType], None] = lambda *_: None
        self.on_change: Callable[[Tensor, Node, FrameType], bool] = lambda *_: False

    def record(self, func: Any, args: Any, kwargs: dict[str, Any], out: Any, frame: FrameType) -> None:
        kind, name = role(func)
        if kind is Role.COMPUTE:
            self._compute(name, Kind.COMPUTE, args, kwargs, out, frame)
        elif kind is Role.IN_PLACE:
            self._in_place(name, args, kwargs, frame)
        elif kind is Role.LEAVE:
            self._leave(name, args, out, frame)
        elif kind is Role.COPY:
            self._copy(name, args, kwargs, out, frame)
        elif kind is Role.FLAG:
            self._flag(name, args, frame)
        elif kind is Role.GRADIENT:
            self._gradient(name, args, out, frame)
        elif kind is Role.FILL:
            self.copied(name, kwargs["fill_value"] if "fill_value" in kwargs else args[-1], out, frame)
        elif kind is not Role.IGNORE:
            self._compute(name, KINDS[kind], args, kwargs, out, frame)

    def _gradient(self, name: str, args: Any, out: Any, frame: FrameType) -> None:
        if name == "__get__":
            self.on_gradient_read(args[0], out)
        else:
            self.on_gradient_write(args[0], args[1] if len(args) > 1 else None, frame)

    def node_of(self, tensor: Tensor) -> Node:
        """The node of a tensor; one that was never seen before is a parameter or an input."""
        node = self.shadow.get(tensor)
        # `module.to(device)` returns the parameter itself, and a leaf may become one after it was made.
        if node is None or (node.parameter is None and self.parameters.find(tensor) is not None):
            number = self.parameters.number(tensor)
            node = self.shadow.new(Kind.INPUT if number is None else Kind.PARAMETER, "input")
            node.parameter = number
            node.floating = continuous(tensor)
            node.requires_grad = tensor.requires_grad
            node.shape, node.dtype = shape(tensor), tensor.dtype
            if number is not None:
                self.on_use(number)
            else:
                self.read(lambda: self._look_at_input(tensor, node))
            self.shadow.put(tensor, node)
        return node

    def read(self, work: Callable[[], None]) -> None:
        """Look at values, where that is possible. Of strange tensors they cannot be read, and where somebody else
        listens to what is computed, he would hear us."""
        if listened():
            return
        try:
            work()
        except Exception as error:
            if not our_own(error):
                raise
            self.guard.tolerate(error, "values")

    def _look_at_input(self, tensor: Tensor, node: Node) -> None:
        measuring.look_at_input(node, tensor)
        if node.floating:
            self._recognise(tensor, node)

    def _recognise(self, tensor: Tensor, node: Node) -> None:
        """A tensor made behind our back (`torch.FloatTensor(...)`): its numbers may be known."""
        origin = crossings.origin_of_tensor(self.shadow, tensor)
        if origin is not None:
            node.kind, node.written, node.inputs = Kind.COPY, "Tensor", ((origin, False, False),)
            node.name = spelling.canonical(node.written)
            node.code, node.lasti, node.inner = origin.code, origin.lasti, origin.inner

    def place(self, node: Node, frame: FrameType | None) -> None:
        node.code, node.lasti, inner = frames.locate(frame)
        node.inner = inner
        here = (id(node.code), node.lasti) if inner is None else (id(node.code), node.lasti, id(inner[0]), inner[1])
        if here not in self._places:
            self._places.add(here)
            self.ran.add(node.code)
            self.on_place()

    def inputs_of(self, values: Iterable[Any], out_floating: bool, name: str) -> tuple[list[Any], bool]:
        """Operands among the arguments, and whether a Python number of unknown origin is one."""
        found: list[tuple[Node, bool, bool]] = []
        constant = False
        for value in values:
            if isinstance(value, Tensor):
                node = self.node_of(value)
                selects = out_floating and not node.floating and name not in ARITHMETIC
                found.append((node, value.requires_grad, selects))
            elif is_a(value, float):
                origin = self.shadow.origin(real(value))
                if origin is not None:
                    found.append((origin, False, False))
                else:
                    constant = True
            elif isinstance(value, (list, tuple)) and len(value) < 4096:
                inner, const = self.inputs_of(value, out_floating, name)
                found.extend(inner)
                constant = constant or const
        return found, constant

    def _compute(self, name: str, kind: Kind, args: Any, kwargs: Any, out: Any, frame: FrameType) -> None:
        outputs = [out] if isinstance(out, Tensor) else [o for o in _flat(out) if isinstance(o, Tensor)]
        if not outputs:
            return
        made: dict[bool, Node] = {}
        for tensor in outputs:
            floating = continuous(tensor)
            node = made.get(floating)
            if node is None:
                node = made[floating] = self._node(name, kind, args, kwargs, tensor, floating, frame)
            self.shadow.put(tensor, node)

    def _node(
        self, name: str, kind: Kind, args: Any, kwargs: Any, out: Tensor, floating: bool, frame: FrameType | None
    ) -> Node:
        inputs: list[Any] = []
        constant = False
        if kind is not Kind.INPUT:
            values = (*args, *kwargs.values()) if kwargs else args
            if name in CASTS:
                values = args[:1]  # What follows only says which type or device is meant.
            inputs, constant = self.inputs_of(values, floating, spelling.canonical(name))
            if kind is Kind.COMPUTE and not floating and any(i[0].floating for i in inputs):
                kind = Kind.DISCRETE
        node = self.shadow.new(kind, name)
        node.inputs, node.constant = tuple(inputs), constant
        spelling.straighten(node)
        node.floating = floating
        node.requires_grad = out.requires_grad
        node.shape, node.dtype = shape(out), out.dtype
        if not functions.recorded():
            node.region = self.regions.current()
        self.place(node, frame)
        if name in PURE and node.inner is None and node.code is not None and "out" not in kwargs:
            self._returns(node, node.code)
        if name == "normal" and node.region is None and inputs:
            # It has a grad_fn, and its gradient to the mean is zero: a draw like any other.
            node.region, node.requires_grad = self.regions.drawn(frame), False
        if kind is Kind.INPUT and node.requires_grad and out.is_leaf:
            self._becomes_parameter(out, node, frame)
        self.read(lambda: observe(node, args, kwargs, out, attentive=self.attentive))
        if name == "argmax" and node.code is not None:
            self._chooses(node.code, node.lasti, args, kwargs)
        return node

    def _returns(self, node: Node, code: CodeType) -> None:
        """The user's own call for a new tensor; detaching what has no history is no loss either way."""
        if node.written != "detach" or any(carries for _, carries, _ in node.inputs):
            self.results[(code, node.lasti)] = node.written

    def _chooses(self, code: CodeType, lasti: int, args: Any, kwargs: Any) -> None:
        single = alone(args, kwargs)
        times, _ = self.singles.get((code, lasti), (0, ()))
        known = (code, lasti) in self.singles
        if single is None:
            self.singles[(code, lasti)] = 0, ()
        elif times or not known:
            self.singles[(code, lasti)] = times + 1, single

    def _becomes_parameter(self, tensor: Tensor, node: Node, frame: FrameType | None) -> None:
        """A leaf the user asked gradient for: `torch.zeros(1, requires_grad=True)`."""
        known = self.parameters.register(tensor)
        known.stack = frames.user_stack(frame)
        known.created = known.stack[0] if known.stack else None
        node.parameter, node.kind = known.number, Kind.PARAMETER

    def _in_place(self, name: str, args: Any, kwargs: Any, frame: FrameType) -> None:
        target = args[0] if args else None
        if isinstance(target, (list, tuple)):  # _foreach_*_: a bulk update, of parameters as a rule
            self._foreach(name, args, target, frame)
            return
        if not isinstance(target, Tensor):
            return
        node = self._node(name, Kind.COMPUTE, args, kwargs, target, continuous(target), frame)
        if self.on_change(target, node, frame):
            return
        written = self.parameters.written(target)
        if written is not None:
            self.on_write(written, node, [i[0] for i in node.inputs[1:]], frame)
            return
        self._replace(target, node)
        base = target._base
        if base is not None:
            self._replace(base, self._through_view(base, node))

    def _foreach(self, name: str, args: Any, targets: Any, frame: FrameType) -> None:
        others = args[1] if len(args) > 1 and isinstance(args[1], (list, tuple)) else [None] * len(targets)
        for target, other in zip(targets, others, strict=False):
            if isinstance(target, Tensor):
                self._in_place(name, (target, other) if other is not None else (target, *args[1:2]), {}, frame)

    def _through_view(self, base: Tensor, node: Node) -> Node:
        """Writing into a view writes into its base."""
        before = self.node_of(base)
        outer = self.shadow.new(Kind.COMPUTE, node.written)
        outer.inputs = ((before, base.requires_grad, False), (node, node.requires_grad, False))
        outer.floating, outer.requires_grad = node.floating, base.requires_grad
        outer.shape, outer.dtype, outer.region = shape(base), base.dtype, node.region
        outer.code, outer.lasti, outer.inner = node.code, node.lasti, node.inner
        return outer

    def _replace(self, tensor: Tensor, node: Node) -> None:
        before = self.shadow.get(tensor)
        while before is not None:
            before.overwritten = node
            shares = before.name in ALIASING and before.inputs
            before = before.inputs[0][0] if shares else None
        self.shadow.put(tensor, node)

    def _leave(self, name: str, args: Any, out: Any, frame: FrameType) -> None:
        tensor = args[0]
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            return
        source = self.node_of(tensor)
        node = self.shadow.new(Kind.LEAVE, name)
        node.inputs = ((source, tensor.requires_grad, False),)
        node.shape, node.dtype = shape(tensor), tensor.dtype
        if not functions.recorded():
            node.region = self.regions.current()
        self.place(node, frame)
        crossings.departed(self.shadow, out, node)
        if node.code is not None:
            self.departures[(node.code, node.lasti), threading.get_ident()] = node

    def _copy(self, name: str, args: Any, kwargs: Any, out: Any, frame: FrameType) -> None:
        """A new tensor from data: linked to the tensors in the data, or to numbers that left torch."""
        data = args[0] if args else kwargs.get("data", kwargs.get("obj"))
        source = args[1] if name == "new_tensor" and len(args) > 1 else data
        if isinstance(source, Tensor) and source.requires_grad and out.requires_grad and out.grad_fn is not None:
            self._compute(name, Kind.COMPUTE, args, kwargs, out, frame)  # as_tensor(tensor) keeps the graph
            return
        self.copied(name, source, out, frame)

    def copied(self, name: str, source: Any, out: Any, frame: FrameType | None) -> None:
        if not isinstance(out, Tensor):
            return
        tensors = [t for t in crossings.flattened(source) if isinstance(t, Tensor)]
        inputs = [(self.node_of(t), t.requires_grad, False) for t in tensors]
        if not tensors:
            inputs = [(origin, False, False) for origin in crossings.origins(self.shadow, source)]
        node = self.shadow.new(Kind.COPY, name)
        node.inputs, node.constant = tuple(inputs), not inputs
        if not any(i[0].floating for i in node.inputs) and not node.constant:
            node.kind = Kind.COMPUTE if node.inputs else Kind.INPUT
        node.floating, node.requires_grad = continuous(out), out.requires_grad
        node.shape, node.dtype = shape(out), out.dtype
        self.place(node, frame)
        if node.requires_grad and not node.inputs:
            self._becomes_parameter(out, node, frame)
        self.read(lambda: measuring.look_at_input(node, out))
        self.shadow.put(out, node)

    def _flag(self, name: str, args: Any, frame: FrameType) -> None:
        tensor = args[0]
        if not isinstance(tensor, Tensor):
            return
        on = bool(args[1]) if len(args) > 1 else True
        if self.parameters.known(tensor):
            self.on_freeze(tensor, on, frame)
            return
        before = self.shadow.get(tensor)
        if not on or before is None or before.requires_grad or not tensor.is_leaf:
            return
        origins = ancestry(before)
        if origins is not None:  # Made of nothing but parameters: stacked or flattened weights.
            self._becomes_parameter(tensor, before, frame)
            self.parameters.register(tensor).derived_from = tuple(sorted(origins))
            before.inputs = ()
        else:
            node = self.shadow.new(Kind.FLAG, name)
            node.inputs = ((before, False, False),)
            node.requires_grad, node.shape, node.dtype = True, shape(tensor), tensor.dtype
            self.place(node, frame)
            self.shadow.put(tensor, node)


def ancestry(node: Node, most: int = 2000) -> set[int] | None:
    """The parameters a value was made of; None if anything else had a part in it."""
    found: set[int] = set()
    stack, seen = [node], {node.serial}
    while stack:
        current = stack.pop()
        if current.parameter is not None:
            found.add(current.parameter)
        elif not current.inputs and current is not node:
            return None
        for operand, _, _ in current.inputs:
            if operand.serial not in seen:
                seen.add(operand.serial)
                stack.append(operand)
        if len(seen) > most:
            return None
    return found


def _flat(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, (list, tuple)):
                yield from _flat(item)
            else:
                yield item
