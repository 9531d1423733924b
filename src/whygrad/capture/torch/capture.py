"""The capture of one run: switches everything on and off, and hands over the trace."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from whygrad.capture.torch import frames, raising, sharing, threads
from whygrad.capture.torch.assembly import assemble, broken, parameters_of
from whygrad.capture.torch.clock import Clock
from whygrad.capture.torch.differentiating import Count, Differentiating
from whygrad.capture.torch.entrances import Entrances, sources
from whygrad.capture.torch.extraction import Extraction
from whygrad.capture.torch.gradients import Gradients
from whygrad.capture.torch.guard import Guard
from whygrad.capture.torch.keeping import Keeping
from whygrad.capture.torch.mode import ShadowMode
from whygrad.capture.torch.naming import Naming, enclosing_modules
from whygrad.capture.torch.parameters import Parameters
from whygrad.capture.torch.patches import Patches
from whygrad.capture.torch.protocol import Held, Protocol
from whygrad.capture.torch.recording import Recorder
from whygrad.capture.torch.regions import Regions
from whygrad.capture.torch.shadow import Node, Shadow
from whygrad.capture.torch.switching import Switching
from whygrad.capture.torch.weights import Weights
from whygrad.capture.torch.window import Window
from whygrad.source import expressions
from whygrad.trace import Backward, Kind, Step, Trace
from whygrad.trace.cuts import Cut, cut_between

Tensor = torch.Tensor
BLENDS = frozenset({"lerp_", "add_", "__iadd__"})
COMPARED_STEPS = 8
"""Traced steps of an optimizer around which values are compared."""
FIRST_UPDATES = 64
MEASURED = 3
"""Backwards of a loss whose terms are differentiated one by one."""
MOST_ROOTS = 4
"""Losses kept in the graph per backward site; the first ones and then the latest."""


@dataclass(frozen=True)
class Options:
    updates: int = 5
    trace: str = "auto"


@dataclass
class _Pending:
    """A backward that is running."""

    backward: Backward
    before: dict[int, tuple[int, int] | None]
    root: Node | None
    keep: bool


class Capture:
    """Watches the current process between `start` and `stop`."""

    def __init__(self, options: Options = Options()) -> None:
        self.guard = Guard()
        self.guard.on_break = self.detach
        self.window = Window(options.updates, options.trace)
        self.shadow = Shadow()
        self.parameters = Parameters()
        self.regions = Regions(self.guard)
        self.recorder = Recorder(self.shadow, self.regions, self.parameters)
        self.recorder.on_write = self._written
        self.recorder.on_freeze = self._froze
        self.recorder.on_use = self._used
        self.mode = ShadowMode(self.recorder, self.guard)
        self.mode.on_error = self._op_raised
        self.clock = Clock()
        self.protocol = Protocol(self.parameters, self.guard, self.clock)
        self.gradients = Gradients(self.parameters, self.shadow, self.guard, self.clock)
        self.gradients.tracing = lambda: self.recording
        self.gradients.pause = self.mode.pause
        self.recorder.on_gradient_read = self.gradients.read
        self.recorder.on_gradient_write = self.gradients.written
        self.recorder.on_change = self.gradients.changed
        self.weights = Weights(self.parameters)
        self.switching = Switching(self.parameters, self.guard, self.clock)
        self.switching.updates = lambda: self.protocol.updates
        self.switching.on_eval = self._evaluating
        self.keeping = Keeping(self.shadow)
        self.count = Count()
        self.settled: set[tuple[int, int]] = set()
        self.differentiating = Differentiating(self.guard, self.settled, self.count)
        self.protocol.on_look = self._look
        self.protocol.before_step = self._before_step
        self.protocol.after_step = self._after_step
        self.entrances = Entrances(self.recorder, self.guard, lambda: self.recording)
        self.naming = Naming(self.parameters)
        self.protocol.on_growth = self.naming.look
        self.extraction = Extraction(self.shadow, self.parameters, self.recorder.departures)
        self.errors = raising.Errors(self.shadow, self.parameters, self.protocol)
        self._always, self._during = Patches(), Patches()
        self._tracing = False
        self._calls_at_backward = 0
        self._roots: dict[Any, int] = {}
        self.traced_updates = 0
        self._backwards = 0
        self._stepped_inside = False
        self._step: tuple[Step, Any] | None = None
        self._evaluated: list[weakref.ref[torch.nn.Module]] = []

    @property
    def recording(self) -> bool:
        return self._tracing and not self.mode.pause.depth

    def start(self) -> None:
        self.differentiating.patch(self._always, self._before_backward, self._after_backward)
        self.protocol.patch_always(self._always)
        self.entrances.patch_parameters(self._always)
        self.switching.patch(self._always)
        if self.window.open:
            self._open()

    def stop(self, escaped: BaseException | None = None) -> Trace:
        """End the watching; of PyTorch's errors only the one that escaped counts."""
        self.detach()
        try:
            if self.protocol.updates:
                self.weights.look(self.protocol.updates, self._held())
            return assemble(self, escaped)
        except Exception as error:
            self.guard.fail(error, "assembling")
            return Trace(limits=broken(self))

    def detach(self) -> None:
        self.window.policy = "off"  # Whoever kept one of our wrappers does not start us again.
        self._close()
        threads.remove(self.mode)  # Another thread may have closed the window.
        self._always.undo()
        self.protocol.unhook()

    def _open(self) -> None:
        if self._tracing:
            return
        self._tracing = self.window.open = True
        self.regions.patch(self._during)
        self.entrances.patch(self._during)
        threads.patch(self._during, self.mode)
        self.gradients.forget()
        self.gradients.patch(self._during)
        self.mode.live = True
        self.mode.pause.depth = 0
        self._calls_at_backward = self.mode.calls
        self._roots.clear()
        self.settled.clear()
        self.protocol.listen(True)
        self.count.quiet = False
        threads.insert(self.mode)

    def _close(self) -> None:
        if not self._tracing:
            return
        self._tracing = self.window.open = False
        self.protocol.listen(False)
        self.count.quiet = True
        self._during.undo()
        threads.remove(self.mode)
        self.mode.live = False
        self.shadow.clear()

    # -- backward

    def _before_backward(self, frame: FrameType, roots: list[Tensor], how: str) -> _Pending | None:
        code, lasti, inner = frames.locate(frame)
        unseen = self.window.backward((id(code), lasti, *((id(inner[0]), inner[1]) if inner is not None else ())))
        if not self._tracing:
            if self.window.should_open(self.protocol.updates, unseen, False):
                self._open()
            else:
                self.settled.add((id(frame.f_code), frame.f_lasti))
            return None
        self._backwards += 1
        site = frames.site(code, lasti, inner)
        root = self._root(roots)
        inside = frames.site(*inner) if inner is not None and code is not None else None
        backward = Backward(
            self._backwards, site, None, self._loss_name(inside or site, root), how=how, order=self.clock.tick()
        )
        backward.library, backward.serial = inside, self.shadow.serial
        if root is not None:
            backward.made = frames.site(root.code, root.lasti, root.inner)
        loss = (site, root.code, root.lasti, root.inner) if root is not None else site
        count = self._roots.get(loss, 0)
        self._roots[loss] = count + 1
        keep = root is not None and (count < MOST_ROOTS or count & (count - 1) == 0)
        if count < 2 or self.naming.wanted():
            self.naming.look(frame)
        self.mode.pause.depth += 1
        self._calls_at_backward = self.mode.calls
        self.gradients.settle()
        if keep and root is not None and how == "backward" and count < MEASURED and len(roots) == 1:
            self._measure(backward, roots[0], root)
        return _Pending(backward, self.gradients.snapshot(), root, keep)

    def _measure(self, backward: Backward, loss: Tensor, root: Node) -> None:
        """Differentiate the terms one by one, unless a hook of the user's would notice."""
        if self.mode.hooked or loss.numel() != 1 or not torch.is_grad_enabled():
            return
        scratch = Extraction(self.shadow, self.parameters, self.recorder.departures)
        number = scratch.take(root)
        try:
            sharing.measure(backward, loss, scratch.graph, number, self.parameters)
        except RuntimeError:  # A graph that the user's own backward will complain about, or cannot keep.
            backward.squares.clear()
            backward.products.clear()

    def _root(self, roots: list[Tensor]) -> Node | None:
        """The loss; several that are differentiated in one call count as their sum."""
        nodes = [node for node in map(self.shadow.get, roots) if node is not None]
        if len(nodes) < 2:
            return nodes[0] if nodes else None
        total = self.shadow.new(Kind.COMPUTE, "add")
        total.inputs = tuple((node, node.requires_grad, False) for node in nodes)
        total.requires_grad = any(node.requires_grad for node in nodes)
        total.code, total.lasti, total.inner = nodes[0].code, nodes[0].lasti, nodes[0].inner
        return total

    def _loss_name(self, site: Any, root: Node | None) -> str:
        written = expressions.receiver(site)
        if not written and root is not None:
            written = expressions.name(frames.site(root.code, root.lasti, root.inner))
        return written or "loss"

    def _after_backward(self, pending: _Pending | FrameType, error: Exception | None, result: Any = None) -> None:
        if not isinstance(pending, _Pending):  # Not traced, but it raised.
            assert error is not None
            site = frames.user_site(pending)
            untraced = Backward(0, site, None, self._loss_name(site, None))
            self.errors.in_backward(error, untraced, None, None)
            if not torch.is_grad_enabled():
                self.errors.still_off(frames.user_stack(pending))
            return
        backward = pending.backward
        self.mode.pause.depth = max(0, self.mode.pause.depth - 1)
        if backward.how == "backward":
            self._deposits(pending)
        elif isinstance(result, (list, tuple)):
            self.gradients.taken(result, backward.id)
        if pending.root is not None and (pending.keep or error is not None):
            backward.root = self.extraction.take(pending.root)
        self.errors.freed(pending.root, backward)
        self.protocol.backwards.append(backward)
        if error is not None:
            self.errors.in_backward(error, backward, pending.root, self.regions.current())
        if self._stepped_inside:
            self._stepped_inside = False
            self._close_if_enough()

    def _deposits(self, pending: _Pending) -> None:
        changed: list[int] = []
        for number, after in self.gradients.snapshot().items():
            if after is not None and after != pending.before.get(number):
                changed.append(number)
                self.parameters[number].deposits.append(pending.backward.id)
        pending.backward.deposits = frozenset(changed)
        pending.backward.zeros = frozenset(self._zeros(changed))

    def _zeros(self, numbers: list[int]) -> list[int]:
        """Deposits that are exactly zero. Looked at only until a parameter has shown a real one."""
        zeros: list[int] = []
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for number in numbers:
                known = self.parameters[number]
                tensor = known.ref()
                if known.grad == "nonzero" or tensor is None or tensor.grad is None or tensor.grad.is_meta:
                    continue
                grad = tensor.grad.coalesce().values() if tensor.grad.is_sparse else tensor.grad
                known.grad = "nonzero" if bool(grad.any()) else "zero"
                if known.grad == "zero":
                    zeros.append(number)
        return zeros

    # -- step

    def _before_step(self, held: Held, closure: bool, frame: FrameType) -> None:
        unseen = self.window.step(held.number)
        if not self._tracing:
            symptom, self.protocol.symptom = self.protocol.symptom, False
            if self.window.should_open(self.protocol.updates, unseen, symptom):
                self._open()
            return
        if held.traced_steps < 2 or self.naming.wanted():
            self.naming.look(frame)
        held.traced_steps += 1
        self.traced_updates += 1
        self.gradients.settle()
        step = self.protocol.consumption(held, frame, self.shadow.serial, closure)
        self.errors.stepped(held, frame)
        self.keeping.stepped(held.number, frame)
        if held.traced_steps <= COMPARED_STEPS:
            self._step = step, self.weights.before_step(held.tensors)
        if not closure:
            self.mode.pause.depth += 1

    def _after_step(self) -> None:
        if not self._tracing:
            return
        if self._step is not None:
            (step, before), self._step = self._step, None
            with torch._C.DisableTorchFunction():
                step.changed = self.weights.after_step(before)
                if step.closure:
                    self.protocol.evaluated(step)
        if self.differentiating.inside:  # An optimizer in a hook of backward: torch is not done yet.
            self._stepped_inside = True
            return
        self.mode.pause.depth = 0
        self._close_if_enough()

    def _look(self, updates: int) -> None:
        """At a step that is looked at anyway, traced or not."""
        self.weights.begin(updates)
        if self.weights.due(updates) or (self._tracing and updates < FIRST_UPDATES):
            self.weights.look(updates, self._held())
        if not self._tracing:
            self.keeping.later(updates)
            outlived = [ref for ref in self._evaluated if (m := ref()) is not None and not m.training]
            self._evaluated.clear()
            if outlived:
                self.protocol.symptom = True

    def _held(self) -> set[int]:
        return {n for held in self.protocol.optimizers for n in held.parameters}

    def _evaluating(self, module: torch.nn.Module) -> None:
        """`eval()` after the window: the next step looks whether it is still in force."""
        if not self._tracing:
            self._evaluated.append(weakref.ref(module))
            for held in self.protocol.optimizers:
                held.next_look = 0

    def _close_if_enough(self) -> None:
        if self.window.should_close(self.mode.calls - self._calls_at_backward):
            self._close()

    def ask(self, loss: Tensor, lost: dict[str, Tensor]) -> dict[str, str] | None:
        """Why this one loss does not reach these parameters; None if the window did not see it made."""
        root = self.shadow.get(loss)
        numbers = {found.number: name for name, t in lost.items() if (found := self.parameters.find(t)) is not None}
        if root is None:
            return None
        self.mode.pause.depth += 1
        try:
            backward = Backward(0, None, self.extraction.take(root))
            trace = Trace(self.extraction.graph, parameters_of(self))
            found_cuts = cut_between(trace, backward, frozenset(numbers))
        finally:
            self.mode.pause.depth -= 1
        return {numbers[n]: said(cut) for cut in found_cuts for n in cut.parameters if n in numbers}

    # -- other events

    def _written(self, tensor: Tensor, node: Node, operands: list[Node]) -> None:
        found: set[int] = set()
        for operand in operands:
            found |= sources(operand)
        self.errors.overwrote(tensor, node)
        if _initialising(node):
            return
        own = self.parameters.register(tensor).number
        blended = node.name.removeprefix("_foreach_") in BLENDS or (own in found and len(found) > 1)
        self.protocol.copied(tensor, found, frames.site(node.code, node.lasti, node.inner), blended)

    def _froze(self, tensor: Tensor, on: bool, frame: FrameType) -> None:
        known = self.parameters.register(tensor)
        if on:
            known.frozen = None
            known.wanted = known.wanted or not known.held_steps
        elif known.frozen is None:
            known.frozen = frames.user_site(frame)

    def _op_raised(self, name: str, args: Any, error: Exception, frame: FrameType) -> None:
        self.naming.look(frame)
        self.errors.in_operation(name, args, error, frame, self.recorder)

    def _used(self, number: int) -> None:
        """A parameter is read for the first time: together with whose?"""
        known = self.parameters[number]
        known.used = True
        self.weights.used(known)
        if not known.companions:
            held = (p for m in enclosing_modules(sys._getframe(1)) for p in m.parameters())
            found = (self.parameters.find(p) for p in held)
            known.companions = frozenset(k.number for k in found if k is not None) - {number}


def said(cut: Cut) -> str:
    """One line for a debugger."""
    return f"cut at {cut.site} by {expressions.text(cut.site) or cut.op.name} ({cut.kind})"


def _initialising(node: Node) -> bool:
    return node.name in ("uniform_", "normal_", "zero_", "fill_", "trunc_normal_", "orthogonal_") and not any(
        operand.parameter is None for operand, _, _ in node.inputs[1:]
    )
