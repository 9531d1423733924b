"""WG908: one place among continuous actions is rewarded."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from whygrad.probe.environments.environment import Move, ProbeEnv
from whygrad.verdicts.wg908_continuous_action import BOUNDS, TARGET


class ContinuousAction(ProbeEnv):
    """1 minus the squared distance to (2, -0.5), each measured by its bound; the bounds differ."""

    states = {"only": (1.0, 1.0)}  # noqa: RUF012

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "continuous": True})

    def actions(self) -> Space[Any]:
        bounds = np.array(BOUNDS, np.float32)
        return spaces.Box(-bounds, bounds)

    def begin(self) -> str:
        return "only"

    def worth(self, state: str, push: NDArray[Any]) -> float:  # noqa: ARG002
        return float(1.0 - np.square((push - TARGET) / BOUNDS).sum())

    def move(self, push: NDArray[Any]) -> Move:
        return "only", self.worth("only", push), True, False
