"""What all probe environments have in common: named states, two numbers or a picture, a push down or up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from whygrad.probe.tape import Tape

State = tuple[float, float]
"""What is seen: two numbers from -1 to 1."""
Move = tuple[str, float, bool, bool]
"""The next state, the reward, `terminated` and `truncated`."""
SIZE = 36
"""Of a picture; the smallest that the usual three convolutions take."""


class ActionError(ValueError):
    """An action that is none of the action space."""


class ProbeEnv(gymnasium.Env[NDArray[Any], Any], ABC):
    """States have names, so that they can be asked about. An action is a push: -1 or +1, or anything between."""

    metadata = {"render_modes": []}  # noqa: RUF012
    states: dict[str, State]

    def __init__(self, *, image: bool = False, continuous: bool = False, seed: int | None = None) -> None:
        self.image = image
        self.continuous = continuous
        if image:
            self.observation_space = spaces.Box(0, 255, (SIZE, SIZE, 1), np.uint8)
        else:
            self.observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = self.actions()
        self._observations = {name: (_picture if image else _vector)(state) for name, state in self.states.items()}
        self._seed = seed
        self._tape = Tape.asked_for()
        self.state = ""

    def actions(self) -> gymnasium.Space[Any]:
        return spaces.Box(-1.0, 1.0, (1,), np.float32) if self.continuous else spaces.Discrete(2)

    @abstractmethod
    def begin(self) -> str:
        """The state that an episode starts in."""

    @abstractmethod
    def move(self, push: NDArray[Any]) -> Move:
        """What this push does in the present state."""

    def asked(self) -> str | None:
        """The situation that the next action decides about; None where it decides nothing."""
        return self.state

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        first, self._seed = self._seed, None
        super().reset(seed=first if seed is None else seed, options=options)
        self.state = self.begin()
        return self.shown(self.state), {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        push, about = self.push(action), self.asked()
        self.state, reward, terminated, truncated = self.move(push)
        if self._tape is not None:
            self._tape.note(self, about, push, reward)
        return self.shown(self.state), reward, terminated, truncated, {}

    def shown(self, state: str) -> NDArray[Any]:
        """The observation of a state; a copy, whatever the agent does with it."""
        return self._observations[state].copy()

    def push(self, action: Any) -> NDArray[Any]:
        """An action as numbers from -1 to 1: 0 is -1 and 1 is +1; beyond the bounds is at the bounds."""
        try:
            numbers = np.asarray(action, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError) as error:
            raise ActionError(f"{action!r} is no action of {self.action_space}") from error
        if isinstance(self.action_space, spaces.Box):
            if numbers.shape != self.action_space.shape or not np.isfinite(numbers).all():
                raise ActionError(f"{action!r} is no action of {self.action_space}")
            return np.clip(numbers, self.action_space.low, self.action_space.high)
        if numbers.shape != (1,) or numbers[0] not in (0, 1):
            raise ActionError(f"{action!r} is no action of {self.action_space}")
        return 2 * numbers - 1

    def either(self, one: str, other: str) -> str:
        """One of two states with equal chance."""
        return one if self.np_random.random() < 0.5 else other


class ChoiceEnv(ProbeEnv):
    """One in which what is done matters: its agents are judged by what their actions are worth."""

    @abstractmethod
    def worth(self, state: str, push: NDArray[Any]) -> float:
        """The reward of a push in a state where the choice matters."""


def _vector(state: State) -> NDArray[Any]:
    return np.array(state, np.float32)


def _picture(state: State) -> NDArray[Any]:
    """The two numbers as the brightness of the two halves."""
    out = np.empty((SIZE, SIZE, 1), np.uint8)
    out[:, : SIZE // 2], out[:, SIZE // 2 :] = (round(127.5 * (number + 1)) for number in state)
    return out
