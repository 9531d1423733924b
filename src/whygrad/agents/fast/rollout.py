"""Steps of a few environments under one policy; values and log-probabilities are left for one pass afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from whygrad.agents.environments import Environments
from whygrad.agents.spaces import Array

Choose = Callable[[Array], Array]


@dataclass
class Rollout:
    """Arrays of shape (steps, environments, ...)."""

    observations: Array
    actions: Array
    rewards: Array
    terminated: Array
    ended: Array
    last: Array
    """What each environment shows after the last step."""
    cut: list[tuple[int, int, Array]]
    """Step, environment and true last observation of each truncated episode."""

    def tensors(self, device: str) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Observations, actions, rewards, terminated, ended."""
        arrays = (self.observations, self.actions, self.rewards, self.terminated, self.ended)
        observations, actions, rewards, terminated, ended = (torch.from_numpy(a).to(device) for a in arrays)
        return observations, actions, rewards, terminated, ended

    def values(self, critic: Callable[[Tensor], Tensor], observations: Tensor) -> tuple[Tensor, Tensor]:
        """Value of every observation and of the one that follows it, in one forward pass."""
        steps, count = self.rewards.shape
        others = np.stack([*self.last, *(observation for _, _, observation in self.cut)])
        with torch.no_grad():
            flat = critic(torch.cat([observations.flatten(0, 1), torch.from_numpy(others).to(observations.device)]))
        values, last, cut = flat.split([steps * count, count, len(self.cut)])
        values = values.view(steps, count)
        following = torch.cat([values[1:], last[None]])
        for (step, number, _), value in zip(self.cut, cut, strict=True):
            following[step, number] = value
        return values, following


@dataclass
class Episode:
    """One whole episode of the first environment."""

    observations: Array
    actions: Array
    rewards: Array
    last: Array
    terminated: bool
    """It ended by itself; otherwise it was cut short at `last`."""


def episode(envs: Environments, choose: Choose, longest: int) -> Episode:
    observations: list[Array] = []
    actions: list[Array] = []
    rewards: list[float] = []
    ended = terminated = False
    while not ended and len(rewards) < longest:
        observations.append(envs.observations[0].copy())
        actions.append(choose(envs.observations)[0])
        last, reward, terminated, ended = envs.step(0, actions[-1])
        rewards.append(reward)
    return Episode(np.stack(observations), np.stack(actions), np.asarray(rewards, np.float32), last, terminated)


def collect(envs: Environments, choose: Choose, steps: int) -> Rollout:
    spaces, count = envs.spaces, len(envs)
    observations = np.empty((steps, count, *spaces.inputs), spaces.dtype)
    shape, kind = ((), np.int64) if spaces.discrete else ((len(spaces.low),), np.float32)
    actions = np.empty((steps, count, *shape), kind)
    rewards, terminated, ended = (np.zeros((steps, count), np.float32) for _ in range(3))
    cut: list[tuple[int, int, Array]] = []
    for step in range(steps):
        observations[step] = envs.observations
        actions[step] = chosen = choose(envs.observations)
        for number in range(count):
            following, reward, over, end = envs.step(number, chosen[number])
            rewards[step, number] = reward
            if end:
                ended[step, number] = 1
                terminated[step, number] = over
                if not over:
                    cut.append((step, number, following))
    return Rollout(observations, actions, rewards, terminated, ended, envs.observations.copy(), cut)
