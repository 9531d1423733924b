"""What happens around a backward: which loss it was, and where it left gradient."""

from __future__ import annotations

import math
import sys
import threading
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from whygrad.capture import frames
from whygrad.capture.torch import functions, methods, sharing
from whygrad.capture.torch.elsewhere import noted
from whygrad.capture.torch.hushed import hushed
from whygrad.capture.torch.shadow import Node
from whygrad.capture.torch.swallowing import Swallowing
from whygrad.capture.torch.unheard import NoFunctions, NoHistory, NoOperations, opaque
from whygrad.collector import Rest
from whygrad.source import expressions
from whygrad.trace import Backward, Kind, Site, Step

if TYPE_CHECKING:
    from whygrad.capture.torch.capture import Capture

Tensor = torch.Tensor
MEASURED = 3
"""Backwards of a loss whose terms are differentiated one by one."""
ATTENTIVE = 8
"""Backwards after a window opens whose activations are looked at; then one in so many."""
MOST_ROOTS = 4
"""Losses kept in the graph per backward site; the first ones and then the latest."""


@dataclass
class _Pending:
    """A backward that is running."""

    backward: Backward
    before: dict[int, tuple[int, int] | None]
    root: Node | None
    keep: bool
    taken: list[Node] = field(default_factory=list)
    """What the loss is made of, where that was looked at before it ran."""


class Backwards:
    """Called before and after every outermost backward that is not settled."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.swallowing = Swallowing()
        self.count = 0
        self._since_open = 0
        self._roots: dict[Any, int] = {}
        self._seen: set[tuple[int, ...]] = set()
        self._unseen: dict[tuple[int, ...], Site | None] = {}
        """Where a loss was differentiated while nothing was traced, and not again since."""
        self._early: set[int] = set()
        """Parameters whose gradient the running backward has deposited and a step inside it used."""

    def forget(self) -> None:
        """The window opens anew: losses are counted from the start."""
        self._roots.clear()
        self._since_open = 0

    def before(self, frame: FrameType, roots: list[Tensor], how: str) -> _Pending | None:
        capture = self.capture
        code, lasti, inner = frames.locate(frame)
        place = (id(code), lasti, *((id(inner[0]), inner[1]) if inner is not None else ()))
        unseen = capture.window.backward(place)
        if not capture.tracing:
            if place not in self._seen and place not in self._unseen:
                self._unseen[place] = frames.site(code, lasti, inner)
            if capture.window.should_open(capture.protocol.updates, unseen, False):
                capture.open()
            else:
                capture.settled.add((id(frame.f_code), frame.f_lasti))
            return None
        if capture.stepping.broken_off():
            capture.interrupted()
        self.count += 1
        self._seen.add(place)
        self._unseen.pop(place, None)
        site = frames.site(code, lasti, inner)
        root = self._root(roots) if capture.saw_it_all() else None
        inside = frames.site(*inner) if inner is not None and code is not None else None
        backward = Backward(
            self.count, site, None, self._loss_name(inside or site, root), how=how, order=capture.clock.tick()
        )
        backward.library, backward.serial = inside, capture.shadow.serial
        backward.update, backward.thread = capture.protocol.updates, threading.get_ident()
        backward.value = _value(roots)
        if backward.value is not None and not math.isfinite(backward.value):
            backward.poisoned = capture.failing.poisoned()
        if root is not None:
            backward.made = frames.site(root.code, root.lasti, root.inner)
        loss = (site, root.code, root.lasti, root.inner) if root is not None else site
        count = self._roots.get(loss, 0)
        self._roots[loss] = count + 1
        first = MOST_ROOTS if capture.window.first else 1
        keep = root is not None and (count < first or count & (count - 1) == 0)
        if (count < 2 and capture.naming.due(frame)) or capture.naming.wanted():
            capture.guard(lambda: capture.naming.look(frame), "names")
        capture.mode.pause.begin()
        capture.calls_at_backward = capture.mode.calls
        capture.mode.something_new()
        self._since_open += 1
        capture.recorder.attentive = self._since_open < ATTENTIVE or not self._since_open % ATTENTIVE
        capture.parameters.differentiated(roots)
        capture.gradients.settle()
        pending = _Pending(backward, capture.gradients.snapshot(), root, keep)
        if keep and root is not None and how == "backward" and len(roots) == 1:
            with Rest():
                self._look(pending, roots[0], root, count)
        return pending

    def unseen(self) -> list[Site]:
        """Where losses were differentiated that were never traced."""
        return [site for site in self._unseen.values() if site is not None]

    def _look(self, pending: _Pending, loss: Tensor, root: Node, count: int) -> None:
        """What the loss is made of, for the matrix and, where the update is sampled, for the telemetry."""
        capture, backward = self.capture, pending.backward
        apart = count < MEASURED and loss.numel() == 1 and functions.recorded() and not self._noticed()
        if not apart and not capture.count.measured:
            return
        number = capture.extraction.take(root)
        pending.taken = capture.extraction.fresh
        if apart:
            self._measure(backward, loss, number)
        if capture.count.measured:
            graph = capture.extraction.graph
            capture.guard(lambda: capture.shown.look(backward, graph, number), "telemetry")

    def _noticed(self) -> bool:
        """Whether anything of the user's would show that the terms are differentiated one by one, or cannot bear it."""
        return self.capture.mode.hooked or self.capture.shadow.wrapped or noted()

    def _measure(self, backward: Backward, loss: Tensor, number: int) -> None:
        graph, parameters = self.capture.extraction.graph, self.capture.parameters
        try:
            hushed(lambda: sharing.measure(backward, loss, graph, number, parameters))
        except RuntimeError:  # A graph that the user's own backward will complain about, or cannot keep.
            backward.squares.clear()
            backward.products.clear()

    def _root(self, roots: list[Tensor]) -> Node | None:
        """The loss; several that are differentiated in one call count as their sum."""
        nodes = [node for node in map(self.capture.shadow.get, roots) if node is not None]
        if len(nodes) < 2:
            return nodes[0] if nodes else None
        total = self.capture.shadow.new(Kind.COMPUTE, "add")
        total.inputs = tuple((node, node.requires_grad, False) for node in nodes)
        total.requires_grad = any(node.requires_grad for node in nodes)
        total.code, total.lasti, total.inner = nodes[0].code, nodes[0].lasti, nodes[0].inner
        return total

    def _loss_name(self, site: Any, root: Node | None) -> str:
        written = expressions.receiver(site)
        if not written and root is not None:
            written = expressions.name(frames.site(root.code, root.lasti, root.inner))
        return written or "loss"

    def after(self, pending: _Pending | FrameType, error: Exception | None, result: Any = None) -> None:
        capture = self.capture
        if not isinstance(pending, _Pending):  # Not traced, but it raised.
            capture.guard(lambda: self._explain_untraced(error, pending), "explanations")
            return
        backward = pending.backward
        capture.mode.pause.end()
        if backward.how == "backward":
            self._deposits(pending)
        elif isinstance(result, (list, tuple)):
            capture.gradients.taken(result, backward.id)
        if pending.root is not None and (pending.keep or error is not None):
            with Rest():
                backward.root = capture.extraction.take(pending.root)
                capture.extraction.renew(pending.taken)
        capture.errors.freed(pending.root, backward)
        capture.protocol.backwards.append(backward)
        capture.forms.differentiated(backward, self._lines(pending))
        if error is not None:
            frame = sys._getframe()
            capture.guard(lambda: self._explain(error, pending), "explanations")
            capture.guard(lambda: capture.keeping.raised(frame), "kept tensors")
        if capture.stepping.inside:
            capture.stepping.inside = False
            capture.close_if_enough()

    def _lines(self, pending: _Pending) -> list[Node] | None:
        """What the loss is made of, where that was copied; None where it was not."""
        if pending.backward.root is None:
            return None
        return pending.taken or self.capture.extraction.fresh

    def _explain(self, error: Exception, pending: _Pending) -> None:
        self.capture.errors.in_backward(error, pending.backward, pending.root, self.capture.regions.current())
        self._count(error, pending.backward.site)

    def _explain_untraced(self, error: Exception | None, frame: FrameType) -> None:
        assert error is not None
        site = frames.user_site(frame)
        untraced = Backward(0, site, None, self._loss_name(site, None))
        self.capture.errors.in_backward(error, untraced, None, None)
        if not functions.recorded():
            self.capture.errors.still_off(frames.user_stack(frame))
        self._count(error, site)

    def _count(self, error: Exception, site: Site | None) -> None:
        capture = self.capture
        self.swallowing.raised(error, site, capture.protocol.updates, capture.errors.about(error))

    def consumed_early(self, step: Step) -> None:
        """A step in a hook of the backward that is running: what it finds has just been deposited."""
        step.consumed = {number: (*ids, self.count) for number, ids in step.consumed.items()}
        step.inside = True
        self._early.update(step.consumed)

    def _deposits(self, pending: _Pending) -> None:
        changed: list[int] = []
        for number, after in self.capture.gradients.snapshot().items():
            if after is not None and after != pending.before.get(number):
                changed.append(number)
                self.capture.parameters[number].deposits.append(pending.backward.id)
        pending.backward.deposits = frozenset(changed) | self._early
        self._early.clear()
        pending.backward.largest = self._largest(changed)
        zeros = [n for n, size in pending.backward.largest.items() if size == 0.0]
        for number in pending.backward.largest:
            known = self.capture.parameters[number]
            known.grad = "nonzero" if known.grad == "nonzero" or number not in zeros else "zero"
        pending.backward.zeros = frozenset(n for n in zeros if self.capture.parameters[n].grad == "zero")

    def _largest(self, numbers: list[int]) -> dict[int, float]:
        """The largest magnitude of each gradient, in one pass: zero, finite and how large is all in it."""
        grads: dict[int, Tensor] = {}
        for number in numbers:
            tensor = self.capture.parameters[number].ref()
            grad = methods.gradient(tensor) if tensor is not None else None
            if grad is not None and not grad.is_meta and not grad.is_complex() and not opaque(grad):
                grads[number] = grad.coalesce().values() if grad.is_sparse else grad
        grads = {number: grad for number, grad in grads.items() if grad.numel()}
        if not grads:
            return {}
        with NoFunctions(), NoOperations(), NoHistory():
            sizes = functions.foreach_norm([methods.detach(grad) for grad in grads.values()], float("inf"))
            return {number: methods.number(size) for number, size in zip(grads, sizes, strict=True)}


def _value(roots: list[Tensor]) -> float | None:
    """The loss as a number, where it is one: not on the meta device, not inside a functorch transform."""
    if len(roots) != 1 or opaque(roots[0]) or roots[0].numel() != 1 or roots[0].is_meta or roots[0].is_complex():
        return None
    return None if torch._C._are_functorch_transforms_active() else methods.number(methods.detach(roots[0]))
