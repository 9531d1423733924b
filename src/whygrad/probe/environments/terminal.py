"""WG906: nothing follows a terminal state."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from whygrad.probe.environments.environment import Move, ProbeEnv


class Terminal(ProbeEnv):
    """V(empty) = 0, V(paying) = 1. What is seen with the end looks like the paying state, to tempt a missing mask."""

    states = {"empty": (-1.0, 1.0), "paying": (1.0, 1.0)}  # noqa: RUF012

    def begin(self) -> str:
        return self.either("empty", "paying")

    def move(self, push: NDArray[Any]) -> Move:  # noqa: ARG002
        return "paying", (1.0 if self.state == "paying" else 0.0), True, False
