"""What an environment shows and takes, as plain data: enough to build a network and to keep it in a file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Spaces:
    """A box of observations, and either a number of actions or a box of them."""

    observation: tuple[int, ...]
    """Shape of one observation. Three dimensions are an image, everything else is flattened."""
    pixels: bool = False
    """Observations are bytes from 0 to 255."""
    actions: int = 0
    """How many discrete actions there are; 0 where actions are continuous."""
    start: int = 0
    """What the environment calls the first of them."""
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    """Bounds of each continuous action."""
    action: tuple[int, ...] = ()
    """Shape of one continuous action."""

    @cached_property
    def image(self) -> bool:
        return len(self.observation) == 3

    @cached_property
    def discrete(self) -> bool:
        return self.actions > 0

    @cached_property
    def bounded(self) -> bool:
        return all(map(math.isfinite, (*self.low, *self.high)))

    @property
    def channels_last(self) -> bool:
        """Images come as (height, width, channels) when the last dimension is the shortest."""
        return self.image and self.observation[2] < self.observation[0]

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Shape of an observation as the networks get it."""
        return self.observation if self.image else (math.prod(self.observation),)

    @cached_property
    def dtype(self) -> type[np.generic]:
        return np.uint8 if self.pixels and self.image else np.float32

    def prepare(self, observation: Any) -> Array:
        """An observation as the networks get it."""
        if isinstance(observation, np.ndarray) and (observation.dtype, observation.shape) == (self.dtype, self.inputs):
            return observation
        prepared = np.asarray(observation, self.dtype).reshape(self.inputs)
        if self.pixels and not self.image:  # Images stay bytes until they enter the network.
            prepared = prepared / np.float32(255)
        return prepared

    def random(self, rng: np.random.Generator) -> Array:
        """Any action, as a network would give it."""
        if self.discrete:
            return np.asarray(rng.integers(self.actions))
        return rng.uniform(-1.0, 1.0, len(self.low)).astype(np.float32)

    def outward(self, action: Array) -> Any:
        """A network's action as the environment takes it.

        Networks act within [-1, 1]; where the environment has bounds, these are stretched to them.
        """
        if self.discrete:
            return int(action) + self.start
        if self.bounded:
            middle, reach = self._stretch
            action = middle + reach * np.minimum(np.maximum(action, -1.0), 1.0)
        return np.asarray(action, np.float32).reshape(self.action)

    @cached_property
    def _stretch(self) -> tuple[Array, Array]:
        low, high = np.asarray(self.low, np.float32), np.asarray(self.high, np.float32)
        return (low + high) / 2, (high - low) / 2
