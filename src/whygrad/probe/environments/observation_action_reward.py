"""WG905: the observation decides which action is better."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from whygrad.probe.environments.environment import ChoiceEnv, Move


class ObservationActionReward(ChoiceEnv):
    """`better` is straight (low on the left, high on the right) or crossed; a reward of +1 for it, else of -1."""

    def __init__(self, *, better: str = "straight", **options: Any) -> None:
        if better not in ("straight", "crossed"):
            raise ValueError(f"better must be 'straight' or 'crossed', not {better!r}")
        self._sign = 1.0 if better == "straight" else -1.0
        self._left, self._right = f"left, {better}", f"right, {better}"
        self.states = {self._left: (-1.0, 1.0), self._right: (1.0, 1.0)}
        super().__init__(**options)

    def begin(self) -> str:
        return self.either(self._left, self._right)

    def worth(self, state: str, push: NDArray[Any]) -> float:
        return self._sign * float(push[0]) * (1.0 if state == self._right else -1.0)

    def move(self, push: NDArray[Any]) -> Move:
        return self.either(self._left, self._right), self.worth(self.state, push), True, False
