"""Optimizers that were seen, and how many of their next steps may simply pass."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from whygrad.capture.search import attribute
from whygrad.capture.torch.parameters import Known
from whygrad.trace import Site

LEAST_STRIDE = 16


def groups(optimizer: Any) -> list[Any]:
    """What it holds, without asking the script's own class."""
    return attribute(optimizer, "param_groups") or []


class Left:
    """How many of an optimizer's next steps nobody looks at: counted ahead, so that there is only a countdown."""

    __slots__ = ("key", "steps")

    def __init__(self, key: int) -> None:
        self.key = key
        """The optimizer's identity."""
        self.steps = 0


class Gone(weakref.ref[Any]):
    """A reference to an optimizer that, when that is dead, stands for nobody's countdown."""

    key = steps = 0


class Passing:
    """The countdowns of all optimizers."""

    __slots__ = ("_by_key", "latest")

    def __init__(self) -> None:
        self._by_key: dict[int, Left] = {}
        self.latest: Left | Gone = Left(0)
        """Whose step came last: mostly the one whose step comes next."""

    def hook(self, slow: Callable[[Any, Any, Any], None]) -> Callable[[Any, Any, Any], None]:
        """What torch calls before every step.

        Between a script's operations all our memory is cold, and each new line of it is waited for: looking the
        optimizer up in a dictionary takes 0.4 % of a small DQN's update, this about 0.15 % (torch 2.13).
        """

        def before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
            left = self.latest
            if left.key != id(optimizer):
                left = self.latest = self.of(id(optimizer))
            if left.steps > 0:
                left.steps -= 1
            else:
                slow(optimizer, args, kwargs)

        return before_step

    def of(self, key: int) -> Left:
        return self._by_key.get(key) or Left(key)

    def new(self, optimizer: Any) -> tuple[Left, tuple[Gone, Gone]]:
        """For an optimizer that is seen for the first time, maybe where another one was.

        When it dies it is forgotten, without a line of Python: what a signal handler raises there would be lost.
        """
        key = id(optimizer)
        left = self.latest = self._by_key[key] = Left(key)
        return left, (
            Gone(optimizer, partial(self._by_key.pop, key)),
            Gone(optimizer, partial(setattr, self, "latest")),
        )


@dataclass
class Held:
    """An optimizer that was seen."""

    number: int
    refs: tuple[weakref.ref[Any], ...]
    kind: str
    site: Site | None
    stack: tuple[Site, ...]
    left: Left
    counted: int = 0
    """Its steps, with those that are still to come and may pass."""
    traced_steps: int = 0
    looks: int = 0
    """Its steps at which the gradients were looked at."""
    looked: int = 0
    """The latest of them."""
    parameters: tuple[int, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    """The same by parameter group."""
    twice: frozenset[int] = frozenset()
    maximizes: bool = False
    adaptive: bool = False
    momentum: bool = False
    rates: tuple[float, ...] = ()
    scheduled: bool = False
    """Its learning rates were seen to change."""
    governed: bool = False
    """A scheduler sets them: it notes the first ones in the groups."""
    there: int = 0
    """When it was last seen to be alive."""
    known: list[Known] = field(default_factory=list)
    """What it holds."""
    stride: int = LEAST_STRIDE
    """Least number of steps between two looks at the gradients, so that looking stays cheap."""
    next_look: int = 0
    next_sample: int = 0
    """The step at which the telemetry wants to be asked again."""
    stopped: int | None = None
    """The step from which on every look found that a schedule had brought the learning rates to zero."""

    @property
    def tensors(self) -> list[tuple[Known, torch.Tensor]]:
        """What it holds, as long as that lives."""
        pairs = [(known, known.ref()) for known in self.known]
        living = [(known, tensor) for known, tensor in pairs if tensor is not None]
        return living if len(living) == len(pairs) else []

    def ref(self) -> Any:
        """The optimizer, if it lives."""
        return self.refs[0]()

    @property
    def steps(self) -> int:
        return self.counted - self.left.steps

    def look_at_rates(self, now: int) -> None:
        optimizer = self.ref()
        if optimizer is not None:
            rates = tuple(float(group["lr"]) for group in groups(optimizer) if "lr" in group)
            self.scheduled = self.scheduled or (bool(self.rates) and rates != self.rates)
            self.rates, self.there = rates, now
            self.governed = any("initial_lr" in group for group in groups(optimizer))

    def attend(self) -> None:
        """The next step is looked at."""
        self.counted -= self.left.steps
        self.left.steps = 0

    def let_pass(self) -> None:
        """Until the next one that somebody wants to see."""
        steps = min(self.next_look - self.counted, self.next_sample - self.counted - 1)
        if steps > 0:
            self.counted += steps
            self.left.steps = steps
