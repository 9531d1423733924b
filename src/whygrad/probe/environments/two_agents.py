"""WG904, for two players: they move in turn, and what is better for one is worse for the other."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from whygrad.probe.environments.environment import ChoiceEnv, Move


class TwoAgents(ChoiceEnv):
    """The observation says whose turn it is. A move is rewarded at once, high for the first player and low for the
    second; the reward that `step` returns is that of the player who moved."""

    states = {"first player": (-1.0, 1.0), "second player": (1.0, 1.0)}  # noqa: RUF012

    def begin(self) -> str:
        return "first player"

    def worth(self, state: str, push: NDArray[Any]) -> float:
        return float(push[0]) if state == "first player" else -float(push[0])

    def move(self, push: NDArray[Any]) -> Move:
        reward = self.worth(self.state, push)
        if self.state == "first player":
            return "second player", reward, False, False
        return "first player", reward, True, False
