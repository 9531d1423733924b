"""Acting repeats itself: once its form is known, nothing is traced until something else happens.

A policy that acts makes the same calls from the same lines, thousands of times before an update. Their form is known
after some hundred steps. Then tracing sleeps, and only one layer of the network is listened to. It wakes when that
layer is called from a place that is no acting, when a loss is differentiated, and, since by then the end of the first
rollout may have passed unseen, once more shortly before the end of the next one.
"""

from __future__ import annotations

import weakref
from collections import Counter
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any

import torch

from whygrad.capture import detours, standins
from whygrad.capture.blame import our_own
from whygrad.capture.detours import Detours, Function
from whygrad.capture.torch import modules, unnoticed
from whygrad.capture.torch.mode import REPEATED

if TYPE_CHECKING:
    from whygrad.capture.torch.capture import Capture

SPACED = 1_000
"""Operations between two counts of the tensors that live with a graph."""
FEW = 16
"""More such tensors than at the count before: some live only for the moment."""
FEWEST = 2
"""Calls of networks between two counts, where something acts."""
OFTEN = 20
"""Calls of a network since the last update that make it one that acts."""
LEARNED = 64
"""Calls of the layer after falling asleep that are taken for acting, wherever they come from."""
AHEAD = 64
"""Calls of it before the end of a rollout at which tracing begins again."""
TRIES = 4
"""Rollouts whose end is waited for."""
TRACED = 2
"""Updates of each loss that are traced after it."""
SELDOM = 4
"""Of the calls of the layer, one in so many is thought about; the others are only counted."""
DEEPEST = 10
LARGEST = (1 << 61) - 1


class Slumber:
    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.asleep = False
        self._sleepy = False
        self._inside = False
        """A network is being called."""
        self._networks, self._layer = Detours(torch.compiler.is_compiling), Detours(torch.compiler.is_compiling)
        self._called: Counter[int] = Counter()
        """Calls of each network since the last update, while tracing."""
        self._modules: dict[int, weakref.ref[Any]] = {}
        self._heard_of = 0
        """Calls of networks at the latest count of what lives."""
        self._calls = 0
        """Calls of the layer since the last update, those before tracing fell asleep among them."""
        self._learned = 0
        """How many of them are taken for acting, wherever they come from."""
        self._paths: set[int] = set()
        """Where they come from."""
        self._updates = 0
        self._length = 0
        """Calls of the layer in a rollout that was slept through, while the end of another one is still wanted."""
        self._tries = 0
        self._living = -1
        """Tensors with a graph at the last count; -1 where there was none."""

    # -- told by the capture

    def opened(self) -> None:
        """Tracing begins, or goes on after a sleep."""
        if self.asleep and self.capture.window.first:
            self._length, self._tries = self._calls, TRIES
        self.asleep = False
        self._forget()
        self._networks.undo()
        self._networks.set(torch.nn.Module, "_wrapped_call_impl", self._calling)

    def closed(self) -> None:
        """Enough was traced; if a rollout was slept through, the end of another one is still wanted."""
        self._networks.undo()
        if self._length <= OFTEN:
            self.end()

    def end(self) -> None:
        self.asleep = False
        self._length = 0
        self._forget()
        self._networks.undo()
        self._layer.undo()

    def repeats(self) -> None:
        """Nothing but known operations for a long time. What keeps its graph is needed for the loss: that goes on."""
        mode, before, heard_of = self.capture.mode, self._living, self._heard_of
        self._heard_of = self._called.total()
        acting = self._heard_of >= heard_of + FEWEST  # Else what repeats is something else: a sum of rewards, say.
        living = sum(node.requires_grad and node.parameter is None for node, _ in self.capture.shadow.living())
        self._living = living if before < 0 else -1
        mode.long_at = mode.calls + (SPACED if before < 0 else REPEATED)
        # Not at once: torch holds the mode in its hand, and will put it back on the stack.
        self._sleepy = acting and before >= 0 and living <= before + FEW and self.capture.window.policy == "auto"

    # -- calls of networks, while tracing

    def _calling(self, original: Function) -> Function:
        """Parts of a network are not counted, nor is a thread that calls one while another thread does."""

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            frame = detours.caller()
            if self._inside:
                return standins.call(original, (module, *args), kwargs, frame)
            self._inside = True
            try:
                self._safely(lambda: self._network(module))
                return standins.call(original, (module, *args), kwargs, frame)
            finally:
                self._inside = False

        return call

    def _network(self, module: Any) -> None:
        if self.capture.protocol.updates != self._updates:
            self._updates, self._sleepy = self.capture.protocol.updates, False
            self._forget()
        self._called[id(module)] += 1
        self._modules[id(module)] = weakref.ref(module)
        if self._sleepy:
            self._sleep()

    def _sleep(self) -> None:
        self._sleepy = False
        acting = {number: times for number, times in self._called.items() if times >= OFTEN}
        if not self.capture.tracing or not acting:
            return
        networks = {number: self._modules[number]() for number in acting}
        layer, each = _rarest([network for network in networks.values() if network is not None])
        self._calls = max(acting.values()) * each
        self._learned = self._calls + LEARNED
        self._paths.clear()
        self.capture.doze()
        self.asleep = True
        self._networks.undo()
        self._layer.undo()
        if layer is not None:
            self._layer.set(layer, "forward", self._listening)

    def _forget(self) -> None:
        self._called.clear()
        self._modules.clear()

    # -- calls of one layer, while asleep and up to the end of the next rollout

    def _listening(self, original: Function) -> Function:
        def forward(*args: Any, **kwargs: Any) -> Any:
            self._calls += 1
            frame = detours.caller()
            if not self._calls % SELDOM:
                self._safely(lambda: self._heard(frame))
            return standins.call(original, args, kwargs, frame)

        return forward

    def _heard(self, frame: FrameType) -> None:
        if self.capture.protocol.updates != self._updates:
            self._updated()
        path = _path(frame)
        new = path not in self._paths
        self._paths.add(path)
        if self.asleep and new and self._calls > self._learned:
            self.capture.open()
        elif 0 < self._length - AHEAD <= self._calls and not self.capture.tracing:
            self._length = 0
            self.capture.window.again(TRACED)
            self.capture.open()

    def _updated(self) -> None:
        """The first call after an update: a rollout that was shorter than the one before sets the measure."""
        self._updates = self.capture.protocol.updates
        if self._length and self._calls > OFTEN:
            self._length, self._tries = min(self._length, self._calls), self._tries - 1
            if not self._tries:
                self.end()
        self._calls = 0

    def _safely(self, work: Any) -> None:
        try:
            work()
        except Exception as error:
            if not our_own(error):
                raise
            self.capture.guard.fail(error, "recording")


def _rarest(networks: list[Any]) -> tuple[type | None, int]:
    """Of torch's own layers in these networks the one there are the fewest of, since it is called the least often."""
    kinds = Counter(type(layer) for network in networks for _, layer in modules.named_submodules(network))
    known = [kind for kind in kinds if isinstance(vars(kind).get("forward"), FunctionType) and _torchs(kind)]
    rarest = min(known, key=lambda kind: kinds[kind], default=None)
    return rarest, kinds[rarest] if rarest is not None else 0


def _torchs(kind: type) -> bool:
    # Those that are led past us already are known by their own instructions, which ours would hide.
    return kind.__module__.startswith("torch.nn.modules.") and kind not in unnoticed.LAYERS


def _path(frame: FrameType | None) -> int:
    """A number for the lines on the stack."""
    found = 0
    for _ in range(DEEPEST):
        if frame is None:
            break
        found = (found * 31 + id(frame.f_code) + frame.f_lasti) & LARGEST
        frame = frame.f_back
    return found
