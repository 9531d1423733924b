"""WG907: a time limit ends the watching, not the state."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from whygrad.probe.environments.environment import Move, ProbeEnv


class Truncation(ProbeEnv):
    """V(stay) = 1 / (1 - gamma). An episode is cut off after one step in `stay`; the next begins in `start`, whose
    value is another one."""

    states = {"start": (-1.0, 1.0), "stay": (1.0, 1.0)}  # noqa: RUF012

    def begin(self) -> str:
        return "start"

    def move(self, push: NDArray[Any]) -> Move:  # noqa: ARG002
        return ("stay", 1.0, False, True) if self.state == "stay" else ("stay", 0.0, False, False)
