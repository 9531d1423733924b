"""WG905, for agents with a memory: what was seen two steps ago decides which action is better."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from whygrad.probe.environments.environment import ChoiceEnv, Move


class Memory(ChoiceEnv):
    """Left or right is shown at the first step, nothing at the second; the third action is rewarded by the cue."""

    states = {"left": (-1.0, -1.0), "right": (1.0, -1.0), "wait": (0.0, -1.0), "answer": (0.0, 1.0)}  # noqa: RUF012
    cue = "left"

    def begin(self) -> str:
        self.cue = self.either("left", "right")
        return self.cue

    def asked(self) -> str | None:
        return self.cue if self.state == "answer" else None

    def worth(self, state: str, push: NDArray[Any]) -> float:
        return float(push[0]) if state == "right" else -float(push[0])

    def move(self, push: NDArray[Any]) -> Move:
        if self.state == "answer":
            return "wait", self.worth(self.cue, push), True, False
        return ("answer" if self.state == "wait" else "wait"), 0.0, False, False
