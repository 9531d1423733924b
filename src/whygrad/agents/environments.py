"""A few cheap environments in a plain loop: for those, processes and vectors of them cost more than they save."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from whygrad.agents.log import Log
from whygrad.agents.spaces import Array, Spaces

if TYPE_CHECKING:
    import gymnasium

Source: TypeAlias = "str | Callable[[], gymnasium.Env[Any, Any]]"
"""An id that gymnasium knows, or something that makes an environment."""
INSTALL = "gymnasium is not installed; install it with: pip install 'whygrad[agents]'"


class Environments:
    """Copies of one environment, each reset by hand as soon as its episode ends.

    So `step` hands out the true last observation of an episode, which a truncated one is bootstrapped from, and no
    step is lost to resetting (a gymnasium 1.x vector environment would spend its next step on it).
    """

    def __init__(self, source: Source, count: int, seed: int, log: Log) -> None:
        seed_everything(seed)
        self.envs = [_make(source) for _ in range(count)]
        self.spaces = spaces_of(self.envs[0])
        self.log = log
        first = []
        for number, env in enumerate(self.envs):
            env.action_space.seed(seed + number)
            first.append(self.spaces.prepare(env.reset(seed=seed + number)[0]))
        self.observations: Array = np.stack(first)
        """What each environment shows now."""
        self._returns = [0.0] * count

    def __len__(self) -> int:
        return len(self.envs)

    def step(self, number: int, action: Array) -> tuple[Array, float, bool, bool]:
        """What one environment answers: the next observation, the reward, whether it terminated, whether it ended."""
        shown, given, terminated, truncated, _ = self.envs[number].step(self.spaces.outward(action))
        following, reward = self.spaces.prepare(shown), float(given)
        self._returns[number] += reward
        self.log.step += 1
        if terminated or truncated:
            self.log.ended(self._returns[number])
            self._returns[number] = 0.0
            self.observations[number] = self.spaces.prepare(self.envs[number].reset()[0])
            return following, reward, terminated, True
        self.observations[number] = following
        return following, reward, False, False

    def close(self) -> None:
        for env in self.envs:
            env.close()


def seed_everything(seed: int) -> None:
    """The global streams; an agent's own draws come from generators that are seeded besides."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _make(source: Source) -> gymnasium.Env[Any, Any]:
    try:
        import gymnasium
    except ImportError as error:
        raise ValueError(INSTALL) from error
    if isinstance(source, str):
        try:
            return gymnasium.make(source, disable_env_checker=True)
        except (gymnasium.error.Error, ImportError) as error:
            raise ValueError(f"the environment {source!r} cannot be made: {error}") from error
    if not callable(source):
        raise ValueError(f"an environment is an id or something that makes one, not a {type(source).__name__}")
    env = source()
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"the factory returned a {type(env).__name__}, not a gymnasium.Env")
    return env


def spaces_of(env: gymnasium.Env[Any, Any]) -> Spaces:
    """What the agents can handle, or one sentence that says what they could."""
    from gymnasium.spaces import Box, Discrete

    seen, taken = env.observation_space, env.action_space
    if not isinstance(seen, Box):
        raise ValueError(f"agents observe a Box (a vector or an image), and this environment shows {seen}")
    shown = Spaces(tuple(map(int, seen.shape)), bool(seen.dtype == np.uint8))
    if isinstance(taken, Discrete):
        return replace(shown, actions=int(taken.n), start=int(taken.start))
    if isinstance(taken, Box) and np.issubdtype(taken.dtype, np.floating):
        low, high = (tuple(map(float, bound.reshape(-1))) for bound in (taken.low, taken.high))
        return replace(shown, low=low, high=high, action=tuple(map(int, taken.shape)))
    raise ValueError(f"agents act in a Discrete space or a Box of real numbers, and this environment takes {taken}")
