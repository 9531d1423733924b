"""What the gradients hold while the window is open: which backwards are in them, until somebody clears them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import FrameType, GeneratorType
from typing import Any

import torch

from whygrad.capture import detours, frames, standins
from whygrad.capture.clock import Clock, remember
from whygrad.capture.detours import Detours, Function
from whygrad.capture.guard import Guard
from whygrad.capture.torch import methods, modules
from whygrad.capture.torch.holding import groups
from whygrad.capture.torch.parameters import Known, Parameters, storage
from whygrad.capture.torch.shadow import Node, Shadow
from whygrad.capture.torch.unheard import opaque
from whygrad.trace import Clear, Clip, Kind, Site

Tensor = torch.Tensor
ZEROING = frozenset({"zero_", "_foreach_zero_"})
SHARING = frozenset({"data", "detach", "reshape", "select"})
"""Ways to take hold of a gradient's own memory."""
CLIPPING = {"clip_grad_norm_": "norm", "clip_grads_with_norm_": "norm", "clip_grad_value_": "value"}
"""torch's functions that limit gradients, and what they limit. The second one is given the norm (torch 2.6)."""


class Gradients:
    """Deposits by parameter, and every event that takes some away or changes them."""

    def __init__(self, parameters: Parameters, shadow: Shadow, guard: Guard, clock: Clock) -> None:
        self.parameters = parameters
        self.shadow = shadow
        self.guard = guard
        self.clock = clock
        self.clears: list[Clear] = []
        self.clips: list[Clip] = []
        self.tracing: Callable[[], bool] = lambda: True
        self.pause: Any = None
        self._scaled = False
        """A gradient scaler has multiplied a loss and not been asked to divide yet."""
        self.lent: dict[int, weakref.ref[Tensor]] = {}
        """Gradients that were read, by parameter."""
        self._handed: set[int] = set()
        """Parameters whose gradient was put there by hand, and not cleared since."""

    def forget(self) -> None:
        """Nobody watched for a while: what the gradients hold is unknown."""
        for known in self.parameters.known_list:
            known.deposits.clear()
            known.assigned, known.leftover = False, 0
        self.lent.clear()
        self._handed.clear()
        self._scaled = False

    def unheard(self, knowns: Iterable[Known]) -> None:
        """Stepped by a thread that was in the middle of something: what it did to the gradients was not seen."""
        for known in knowns:
            known.deposits.clear()
            known.assigned, known.leftover = False, 0

    # -- calls that clear, clip and scale

    def follow(self, during: Detours) -> None:
        during.set(torch.optim.Optimizer, "zero_grad", partial(self._clearing, read=_optimizer_tensors))
        during.set(torch.nn.Module, "zero_grad", partial(self._clearing, read=modules.parameters))
        for name, how in CLIPPING.items():
            if hasattr(torch.nn.utils, name):
                during.set(torch.nn.utils, name, partial(self._clipping, how=how))

    def _clearing(self, original: Function, read: Callable[[Any], list[Tensor]]) -> Function:
        def zero_grad(holder: Any, *args: Any, **kwargs: Any) -> Any:
            frame = detours.caller()
            recording = self.tracing()
            with self.pause:
                result = standins.call(original, (holder, *args), kwargs, frame)
                if recording:
                    self.guard(lambda: self.cleared(read(holder), frames.user_site(frame)), "zero_grad")
            return result

        return zero_grad

    def _clipping(self, original: Function, how: str) -> Function:
        def clip(*args: Any, **kwargs: Any) -> Any:
            frame = detours.caller()
            if not self.tracing() or not (args or "parameters" in kwargs):
                return standins.call(original, args, kwargs, frame)
            parameters, *rest = args or (kwargs.pop("parameters"),)
            tensors = [parameters] if isinstance(parameters, Tensor) else list(parameters)
            # An empty generator is warned about, so it stays one.
            handed = (t for t in tensors) if isinstance(parameters, GeneratorType) else tensors
            limit = rest[0] if rest else kwargs.get("max_norm", kwargs.get("clip_value"))
            with self.pause:
                event = self.guard(lambda: self._clip(tensors, limit, how, frame, parameters), "clip")
                result = standins.call(original, (handed, *rest), kwargs, frame)
                norm = kwargs.get("total_norm", rest[1] if len(rest) > 1 else None) if result is None else result
                if event is not None:
                    self.guard(lambda: self._clipped(event, norm), "clip")
            return result

        return clip

    def scaled(self, scaled: bool) -> None:
        """A gradient scaler has multiplied a loss, or divided the gradients again."""
        self._scaled = scaled

    # -- events

    def cleared(self, tensors: list[Tensor], site: Site | None) -> None:
        others = self._same(tensors)
        knowns, aliased = self._known([*tensors, *others]), {id(tensor) for tensor in others}
        lost = {known.number: tuple(known.deposits) for known in knowns if known.deposits}
        for known in knowns:
            known.deposits.clear()
            known.assigned, known.leftover = False, 0
            self.lent.pop(known.number, None)
            if id(known.ref()) not in aliased:  # Zeroed in place, those still share one gradient.
                self._handed.discard(known.number)
        last = self.clears[-1] if self.clears else None
        numbers = frozenset(known.number for known in knowns)
        if last is not None and last.site == site and last.order == self.clock.now:
            last.parameters |= numbers  # One loop over parameters is one clearing.
            last.discarded.update(lost)
            return
        remember(self.clears, Clear(site, numbers, self.clock.tick(), lost))

    def _clip(self, tensors: list[Tensor], limit: Any, how: str, frame: FrameType, given: Any) -> Clip:
        knowns = self._known(tensors)
        present = [grad for t in tensors if (grad := methods.gradient(t)) is not None]
        event = Clip(
            frames.user_site(frame),
            frozenset(known.number for known in knowns),
            float(limit),
            self.clock.tick(),
            how,
            frozenset(k.number for k in knowns if (t := k.ref()) is not None and methods.gradient(t) is not None),
            scaled=self._scaled,
            exhausted=not tensors and isinstance(given, Iterator),
        )
        if how == "value" and present and not any(map(opaque, present)):
            event.size = max(methods.number(methods.absolute(g).max()) for g in present if g.numel())
        remember(self.clips, event)
        return event

    def _clipped(self, event: Clip, norm: Any) -> None:
        if event.how == "norm" and isinstance(norm, Tensor) and event.present and not opaque(norm):
            event.size = methods.number(norm)

    # -- gradients in the user's hands

    def read(self, owner: Tensor, grad: Any) -> None:
        """`p.grad` was read: what becomes of it can be followed."""
        known = self.parameters.find(owner)
        if known is None or not isinstance(grad, Tensor):
            return
        node = self.shadow.get(grad)
        if node is None:
            node = self.shadow.new(Kind.INPUT, "grad")
            node.requires_grad = grad.requires_grad
            self.shadow.put(grad, node)
        node.deposits = tuple(known.deposits)
        self.lent[known.number] = weakref.ref(grad)

    def taken(self, grads: Iterable[Any], backward: int) -> None:
        """Results of `autograd.grad`."""
        for grad in grads:
            if isinstance(grad, Tensor) and self.shadow.get(grad) is None:
                node = self.shadow.new(Kind.INPUT, "grad")
                node.requires_grad, node.deposits = grad.requires_grad, (backward,)
                self.shadow.put(grad, node)

    def written(self, owner: Tensor, value: Any, frame: FrameType) -> None:
        """`p.grad = …`."""
        known = self.parameters.find(owner)
        if known is None:
            return
        if value is None:
            self.cleared([owner], frames.user_site(frame))
            return
        lent = self.lent.get(known.number)
        if lent is not None and lent() is value and known.deposits:
            return  # Put back what was there all the time; later backwards have added to it.
        node = self.shadow.get(value) if isinstance(value, Tensor) else None
        known.deposits = sorted(_deposited(node)) if node is not None else []
        known.assigned, known.leftover = True, 0
        self._handed.add(known.number)

    def changed(self, tensor: Tensor, node: Node, frame: FrameType) -> bool:
        """An operation in place; True if it wrote into a gradient."""
        owner, site = self._owner(tensor), frames.user_site(frame)
        zeroes = node.written in ZEROING or (node.name in ("mul", "fill") and node.scalar == 0.0)
        if owner is None:
            covered = self._inside(tensor) if zeroes else []
            if covered:
                self.cleared(covered, site)
            return bool(covered)
        if "unscale" in node.written:
            return True  # A gradient scaler takes back what it put in.
        if zeroes:
            self.cleared([owner], site)
            held = self.shadow.get(tensor)
            if held is not None:
                held.deposits = ()
            return True
        last = self.clips[-1] if self.clips else None
        number = self.parameters.register(owner).number
        if last is not None and last.how == "hand" and last.site == site and last.order == self.clock.now:
            last.parameters |= {number}
            last.present |= {number}
        else:
            limit = node.scalar if node.scalar is not None else float("nan")
            event = Clip(site, frozenset({number}), limit, self.clock.tick(), "hand", frozenset({number}))
            event.operation = node.written
            remember(self.clips, event)
        return True

    def _owner(self, tensor: Tensor) -> Tensor | None:
        """The parameter whose gradient this is, also by way of `.data`."""
        node = self.shadow.get(tensor)
        while node is not None and node.deposits is None and node.name in SHARING and node.inputs:
            node = node.inputs[0][0]
        if node is None or node.deposits is None:
            return None
        address = storage(tensor)
        for _, owner in self.parameters.within_reach():
            grad = methods.gradient(owner) if owner.is_leaf else None
            if grad is not None and (grad is tensor or (address and storage(grad) == address)):
                return owner
        return None

    def _inside(self, tensor: Tensor) -> list[Tensor]:
        """Parameters whose gradients are parts of this tensor: one flat buffer for all of them."""
        address = storage(tensor) if tensor.is_contiguous() else 0
        found = []
        for _, owner in self.parameters.within_reach() if address else ():
            grad = methods.gradient(owner) if owner.is_leaf else None
            if grad is not None and storage(grad) == address:
                start = grad.storage_offset() - tensor.storage_offset()
                if start >= 0 and start + grad.numel() <= tensor.numel():
                    found.append(owner)
        return found

    # -- backward and step

    def snapshot(self) -> dict[int, tuple[int, int] | None]:
        """Identity and version of every gradient: tells without a kernel what a backward deposits."""
        return {
            known.number: None if (grad := methods.gradient(tensor)) is None else (id(grad), grad._version)
            for known, tensor in self.parameters.within_reach()
            if tensor.is_leaf
        }

    def settle(self) -> None:
        """Gradients that vanished where nobody looked, inside a library or a C++ call."""
        reachable = self.parameters.within_reach()
        gone = [t for k, t in reachable if (k.deposits or k.leftover) and t.is_leaf and methods.gradient(t) is None]
        if gone:
            self.cleared(gone, None)

    def _same(self, tensors: list[Tensor]) -> list[Tensor]:
        """Parameters that were handed the very gradients of these, which were zeroed and not taken away."""
        if not self._handed:  # A loop that clears one by one comes here for each.
            return []
        zeroed = {id(grad) for t in tensors if t.is_leaf and (grad := methods.gradient(t)) is not None}
        mine = (k for n in self._handed if self.parameters.reachable(k := self.parameters[n]))
        pairs = ((t, methods.gradient(t)) for k in mine if (t := k.ref()) is not None)
        return [t for t, grad in pairs if grad is not None and id(grad) in zeroed]

    def _known(self, tensors: Iterable[Tensor]) -> list[Known]:
        return [known for t in tensors if (known := self.parameters.find(t)) is not None]


def _deposited(node: Node, most: int = 200) -> set[int]:
    """Backwards whose gradient went into a value."""
    found: set[int] = set()
    stack, seen = [node], {node.serial}
    while stack and len(seen) < most:
        current = stack.pop()
        if current.deposits is not None:
            found.update(current.deposits)
            continue
        for operand, _, _ in current.inputs:
            if operand.serial not in seen:
                seen.add(operand.serial)
                stack.append(operand)
    return found


def _optimizer_tensors(optimizer: Any) -> list[Tensor]:
    return [p for group in groups(optimizer) for p in group["params"]]
