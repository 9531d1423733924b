"""WG908: one place among continuous actions is rewarded."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from whygrad.probe.environments.environment import ChoiceEnv, Move
from whygrad.verdicts.wg908_continuous_action import BOUNDS, MIRRORED, PLAIN, TARGET


class ContinuousAction(ChoiceEnv):
    """1 minus the squared distance to (2.5, -0.5), or mirrored to (-2.5, 0.5), each measured by its bound."""

    def __init__(self, *, mirrored: bool = False, **options: Any) -> None:
        self._only = MIRRORED if mirrored else PLAIN
        self._target = np.array(TARGET) * (-1 if mirrored else 1)
        self.states = {self._only: (1.0, 1.0)}
        super().__init__(**{**options, "continuous": True})

    def actions(self) -> Space[Any]:
        bounds = np.array(BOUNDS, np.float32)
        return spaces.Box(-bounds, bounds)

    def begin(self) -> str:
        return self._only

    def worth(self, state: str, push: NDArray[Any]) -> float:  # noqa: ARG002
        return float(1.0 - np.square((push - self._target) / BOUNDS).sum())

    def move(self, push: NDArray[Any]) -> Move:
        return self._only, self.worth(self._only, push), True, False
