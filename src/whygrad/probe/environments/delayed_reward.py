"""WG903: the reward comes one step later."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from whygrad.probe.environments.environment import Move, ProbeEnv


class DelayedReward(ProbeEnv):
    """V(end) is the reward, V(start) gamma times that. The sign, seen from the start, keeps values past the end
    at zero on average."""

    states = {"start+": (1.0, -1.0), "end+": (1.0, 1.0), "start-": (-1.0, -1.0), "end-": (-1.0, 1.0)}  # noqa: RUF012

    def begin(self) -> str:
        return self.either("start+", "start-")

    def move(self, push: NDArray[Any]) -> Move:  # noqa: ARG002
        if self.state.startswith("start"):
            return self.state.replace("start", "end"), 0.0, False, False
        return self.either("start+", "start-"), (1.0 if self.state == "end+" else -1.0), True, False
