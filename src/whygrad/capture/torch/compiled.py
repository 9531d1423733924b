"""`torch.compile`: what is compiled does not know of us, and is one operation, from what went in to what came out.

The compiler writes down which modes are on the stack, and compiles anew for others. With ours among them everything
would be compiled twice, once while tracing and once more afterwards, for minutes where a network is large. So the mode
is taken off as long as a compiled function runs. Autograd's graph says which of the operands the result hangs on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CellType, CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_leaves

from whygrad.about import HOME
from whygrad.capture import detours, frames, standins
from whygrad.capture.detours import Detours, Function
from whygrad.capture.search import attributes, is_a
from whygrad.capture.torch import functions, modules, threads
from whygrad.capture.torch.parameters import continuous, shape
from whygrad.trace import Kind

if TYPE_CHECKING:
    from whygrad.capture.torch.capture import Capture

Tensor = torch.Tensor
MOST_NODES = 20_000
_EMPTY = CellType()
_HOME = "torch._dynamo.eval_frame"
_RULES = "torch._dynamo.trace_rules"
_compiler: Any = torch._C._dynamo.eval_frame
_SKIP, _COMPILE = _compiler._FrameAction.SKIP, _compiler._FrameAction.DEFAULT
_RUNNING = "compile_wrapper"
_STARTING = "_callback_from_stance"
"""Called by every compiled function right before it starts. What it finds in the list `cleanups` of its caller is
called when the function is over, however it ends."""


class Compiled:
    """Calls of compiled functions, while tracing."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.called = False
        self._followed = False

    def attach(self, always: Detours) -> None:
        """The compiler is loaded by the first function that is to be compiled."""
        always.set(torch, "compile", self._compiling)
        if _skip not in standins.made:
            standins.made.append(_skip)

    def _compiling(self, original: Function) -> Function:
        def compile_(*args: Any, **kwargs: Any) -> Any:
            out = standins.call(original, args, kwargs, detours.caller())
            self.capture.guard(_left_out, "compile")
            if self.capture.tracing and not self._followed:
                self.capture.guard(lambda: self.follow(self.capture.during), "compile")
            return out

        return compile_

    def prepare(self) -> None:
        """The compiler may have been loaded in the meantime: by an optimizer, say (torch 2.13)."""
        starting = getattr(sys.modules.get(_HOME), _STARTING, None)
        if isinstance(starting, FunctionType):
            detours.prepare(starting)

    def follow(self, during: Detours) -> None:
        compiler = sys.modules.get(_HOME)
        self._followed = hasattr(compiler, _STARTING)
        if self._followed:
            during.set(compiler, _STARTING, self._starting)

    def _starting(self, original: Function) -> Function:
        def starting(callback: Any) -> Any:
            out = original(callback)
            frame = detours.caller()
            self.capture.guard(lambda: self._step_aside(frame), "compile")
            return out

        return starting

    def _step_aside(self, frame: FrameType) -> None:
        if _cleanups(frame) is not None and threads.remove(self.capture.mode):
            self._off(frame)

    def inside(self) -> bool:
        """Whether tracing begins while a compiled function runs; then the mode waits until that is over."""
        outermost = _outermost(sys._getframe(1)) if _HOME in sys.modules else None
        if outermost is not None:
            self._off(outermost)
        return outermost is not None

    def _off(self, frame: FrameType) -> None:
        self.capture.mode.pause.begin()
        cleanups = _cleanups(frame)
        if cleanups is not None and self._over not in cleanups:
            cleanups.append(self._over)

    def _over(self) -> None:
        frame, capture = sys._getframe(1), self.capture
        capture.mode.pause.end()
        if capture.mode.live:
            capture.guard(lambda: threads.insert(capture.mode), "compile")
            if capture.recording:
                capture.guard(lambda: self._record(frame), "compile")

    def _record(self, frame: FrameType) -> None:
        self.called = True
        variables = frames.variables(frame)
        given = [variables.get(name) for name in ("args", "kwargs")]
        brought = [*_held(variables.get("fn")), *(t for value in tree_leaves(given) for t in _held(value))]
        operands = list({id(tensor): tensor for tensor in brought}.values())
        for out in tree_leaves(variables.get("result")):
            if is_a(out, Tensor) and not any(out is operand for operand in operands):
                self._made(out, operands, frame)

    def _made(self, out: Tensor, operands: list[Tensor], frame: FrameType) -> None:
        recorder = self.capture.recorder
        reached = _reached(out, operands)
        mine = {id(tensor) for tensor in reached}
        others = [tensor for tensor in operands if id(tensor) not in mine]
        node = recorder.shadow.new(Kind.FUNCTION, "torch.compile")
        node.inputs = (
            *((recorder.node_of(tensor), True, False) for tensor in reached),
            *((recorder.node_of(tensor), False, False) for tensor in others),
        )
        node.floating, node.requires_grad = continuous(out), out.requires_grad
        node.shape, node.dtype = shape(out), out.dtype
        if not out.requires_grad and not functions.recorded():
            node.region = recorder.regions.current()
        recorder.place(node, frame)
        recorder.shadow.put(out, node)


def _cleanups(frame: FrameType) -> list[Any] | None:
    found = frames.variables(frame).get("cleanups")
    return found if type(found) is list else None


def _outermost(frame: FrameType | None) -> FrameType | None:
    """The call of a compiled function, on this thread's stack, that has no other around it."""
    found = None
    while frame is not None:
        if (
            frame.f_code.co_name == _RUNNING
            and frame.f_globals.get("__name__") == _HOME
            and _cleanups(frame) is not None
        ):
            found = frame
        frame = frame.f_back
    return found


def _skip(code: CodeType) -> None:
    """The compiler runs it as it is, and goes on with what it calls."""
    _compiler.set_code_exec_strategy(code, _compiler._FrameExecStrategy(_SKIP, _COMPILE))


def _left_out() -> None:
    """Behind a break in what it compiles (a `backward()`, say) the compiler would take up our own functions."""
    rules = sys.modules.get(_RULES)
    if rules is not None and HOME not in rules.SKIP_DIRS:
        rules.add("whygrad")


def _held(value: Any) -> Iterator[Tensor]:
    """A tensor, or those of the modules that a function names: its own, those around it, and global ones."""
    if is_a(value, Tensor):
        yield value
    elif is_a(value, torch.nn.Module):
        yield from modules.parameters(value)
    elif callable(value):
        function = getattr(value, "__func__", value)
        outside = getattr(function, "__globals__", {})
        names = getattr(getattr(function, "__code__", None), "co_names", ())
        cells = getattr(function, "__closure__", None) or ()
        around = [cell.cell_contents for cell in cells if cell != _EMPTY]  # One may not be bound yet.
        for held in (getattr(value, "__self__", None), *around, *(outside.get(name) for name in names)):
            if is_a(held, Tensor) or is_a(held, torch.nn.Module):
                yield from _held(attributes(held).get("_orig_mod", held))


def _reached(out: Tensor, operands: list[Tensor]) -> list[Tensor]:
    """Operands and parameters that a backward from here would arrive at; behind an operand nobody looks."""
    ends = {tensor.grad_fn: tensor for tensor in operands if tensor.grad_fn is not None}
    found: dict[int, Tensor] = {}
    stack, seen = [out.grad_fn], {out.grad_fn}
    while stack and len(seen) < MOST_NODES:
        function = stack.pop()
        tensor = ends.get(function) if function is not None else None
        tensor = getattr(function, "variable", None) if tensor is None else tensor
        if tensor is not None:
            found[id(tensor)] = tensor
        elif function is not None:
            following = [node for node, _ in function.next_functions if node not in seen]
            seen.update(following)
            stack += following
    return list(found.values())
