"""Tiny environments and agents' settings for the tests of the agents."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

Env = gymnasium.Env[Any, Any]


class Corridor(Env):
    """Walk to the right end in time: a reward of one there, nothing elsewhere."""

    def __init__(self, shape: tuple[int, ...] = (5,), continuous: bool = False, pixels: bool = False) -> None:
        self.shape, self.pixels = shape, pixels
        high, dtype = (255, np.uint8) if pixels else (1.0, np.float32)
        self.observation_space = Box(0, high, shape, dtype)
        self.action_space = Box(-2.0, 2.0, (1,)) if continuous else Discrete(2, start=3)
        self.place = self.time = 0

    def _shown(self) -> Any:
        out = np.zeros(self.shape, self.observation_space.dtype)
        out.reshape(-1)[self.place] = 255 if self.pixels else 1
        return out

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.time = int(self.np_random.integers(0, 3)), 0
        return self._shown(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        right = action == 4 if isinstance(self.action_space, Discrete) else float(action[0]) > 0
        self.place = min(max(self.place + (1 if right else -1), 0), 4)
        self.time += 1
        there = self.place == 4
        return self._shown(), float(there), there, self.time >= 8, {}
