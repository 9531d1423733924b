"""Optimizers that were seen, and how many of their next steps may simply pass."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from whygrad.capture.torch.parameters import Known
from whygrad.trace import Site

LEAST_STRIDE = 16


class Passing:
    """Steps that nobody looks at, by optimizer: counted ahead, so that the hook has nothing to do but count down."""

    def __init__(self) -> None:
        self.left: dict[int, int] = {}
        """By identity of the optimizer; what is left of those that were counted."""

    def hook(self, slow: Callable[[Any, Any, Any], None]) -> Callable[[Any, Any, Any], None]:
        """What torch calls before every step.

        Between a script's operations all our memory is cold: on a small DQN this takes about 0.5 % of an update; with
        the counts in their objects it took 1 % (medians of three processes each, torch 2.11).
        """
        left = self.left

        def before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
            passing = left.get(id(optimizer))
            if passing:
                left[id(optimizer)] = passing - 1
            else:
                slow(optimizer, args, kwargs)

        return before_step

    def of(self, key: int) -> int:
        return self.left.get(key, 0)


@dataclass
class Held:
    """An optimizer that was seen."""

    number: int
    ref: weakref.ref[Any]
    kind: str
    site: Site | None
    stack: tuple[Site, ...]
    key: int
    passing: Passing
    counted: int = 0
    """Its steps, with those that are still to come and may pass."""
    traced_steps: int = 0
    parameters: tuple[int, ...] = ()
    twice: frozenset[int] = frozenset()
    maximizes: bool = False
    rates: tuple[float, ...] = ()
    tensors: list[tuple[Known, torch.Tensor]] = field(default_factory=list)
    """What it holds; the tensors live as long as the optimizer does."""
    stride: int = LEAST_STRIDE
    """Least number of steps between two looks at the gradients, so that looking stays cheap."""
    next_look: int = 0
    next_sample: int = 0
    """The step at which the telemetry wants to be asked again."""
    stopped: int | None = None
    """The step from which on every look found that a schedule had brought the learning rates to zero."""

    @property
    def steps(self) -> int:
        return self.counted - (self.passing.of(self.key) if self.ref() is not None else 0)

    def attend(self) -> None:
        """The next step is looked at."""
        self.counted = self.steps
        self.passing.left.pop(self.key, None)

    def let_pass(self) -> None:
        """Until the next one that somebody wants to see."""
        steps = min(self.next_look - self.counted, self.next_sample - self.counted - 1)
        if steps > 0:
            self.counted += steps
            self.passing.left[self.key] = steps

    def died(self) -> None:
        self.counted -= self.passing.left.pop(self.key, 0)
        self.tensors.clear()
