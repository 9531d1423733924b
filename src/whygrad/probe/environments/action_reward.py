"""WG904: the action decides the reward."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from whygrad.probe.environments.environment import ChoiceEnv, Move


class ActionReward(ChoiceEnv):
    """`better` is low or high; a reward of +1 for it, of -1 for the other."""

    def __init__(self, *, better: str = "high", **options: Any) -> None:
        if better not in ("low", "high"):
            raise ValueError(f"better must be 'low' or 'high', not {better!r}")
        self._only = f"{better} is better"
        self._sign = 1.0 if better == "high" else -1.0
        self.states = {self._only: (1.0, 1.0)}
        super().__init__(**options)

    def begin(self) -> str:
        return self._only

    def worth(self, state: str, push: NDArray[Any]) -> float:  # noqa: ARG002
        return self._sign * float(push[0])

    def move(self, push: NDArray[Any]) -> Move:
        return self._only, self.worth(self._only, push), True, False
