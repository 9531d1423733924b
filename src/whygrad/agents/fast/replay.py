"""A replay buffer of two arrays, one row per transition: a batch is two gathers, whatever it consists of."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from whygrad.agents.spaces import Array, Spaces


class Transitions(NamedTuple):
    """A batch of steps."""

    observations: Tensor
    actions: Tensor
    """Indices for discrete actions, else rows of numbers in [-1, 1]."""
    rewards: Tensor
    next_observations: Tensor
    terminated: Tensor
    """1 where the episode ended for good, 0 also where it was cut short."""


class Replay:
    """The latest transitions; older ones are overwritten."""

    def __init__(self, capacity: int, spaces: Spaces, device: str) -> None:
        self.capacity, self.spaces, self.device = capacity, spaces, torch.device(device)
        self._width = 1 if spaces.discrete else len(spaces.low)
        self._seen = np.zeros((capacity, 2 * math.prod(spaces.inputs)), spaces.dtype)
        """Observation and next observation."""
        self._done = np.zeros((capacity, self._width + 2), np.float32)
        """Action, reward, terminated."""
        self._count = 0

    def __len__(self) -> int:
        return min(self._count, self.capacity)

    def add(self, observation: Array, action: Array, reward: float, following: Array, terminated: bool) -> None:
        row = self._count % self.capacity
        half = self._seen.shape[1] // 2
        self._seen[row, :half] = observation.reshape(-1)
        self._seen[row, half:] = following.reshape(-1)
        done = self._done[row]
        done[: self._width] = action
        done[self._width] = reward
        done[self._width + 1] = terminated
        self._count += 1

    def sample(self, size: int, rng: np.random.Generator) -> Transitions:
        rows = rng.integers(len(self), size=size)
        seen = torch.from_numpy(self._seen.take(rows, 0)).to(self.device)
        done = torch.from_numpy(self._done.take(rows, 0)).to(self.device)
        now, following = seen.view(size, 2, *self.spaces.inputs).unbind(1)
        width = self._width
        action = done[:, 0].long() if self.spaces.discrete else done[:, :width]
        return Transitions(now, action, done[:, width], following, done[:, width + 1])
