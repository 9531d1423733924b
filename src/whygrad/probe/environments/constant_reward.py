"""WG901: one state, one step, always the same reward."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from whygrad.probe.environments.environment import Move, ProbeEnv
from whygrad.verdicts.wg901_value_fit import REWARD


class ConstantReward(ProbeEnv):
    """V(only) = 2."""

    states = {"only": (1.0, 1.0)}  # noqa: RUF012

    def begin(self) -> str:
        return "only"

    def move(self, push: NDArray[Any]) -> Move:  # noqa: ARG002
        return "only", REWARD, True, False
