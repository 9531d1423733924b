"""WG902: the observation decides the reward."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from whygrad.probe.environments.environment import Move, ProbeEnv


class ObservationReward(ProbeEnv):
    """V(left) = -1, V(right) = +1; what is seen after the end is left or right, so that values past it cancel out."""

    states = {"left": (-1.0, 1.0), "right": (1.0, 1.0)}  # noqa: RUF012

    def begin(self) -> str:
        return self.either("left", "right")

    def move(self, push: NDArray[Any]) -> Move:  # noqa: ARG002
        return self.either("left", "right"), (1.0 if self.state == "right" else -1.0), True, False
