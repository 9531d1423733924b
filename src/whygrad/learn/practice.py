"""What the training scripts of the exercises share, so that they show nothing but networks, losses and updates.

An agent is made for an environment, trained for some steps, and asked for actions and values, as `whygrad probe` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn


class Batch(NamedTuple):
    states: Tensor
    actions: Tensor
    rewards: Tensor
    next_states: Tensor
    done: Tensor
    """1 where the episode is over, else 0."""


class Practice(ABC):
    """`build` makes the networks, `update` learns from a batch of steps that were just taken."""

    critic: nn.Module
    actions = "discrete"
    batch = 16

    def __init__(self, env: Any, gamma: float = 0.6, seed: int = 0) -> None:
        self.env = env
        self.gamma = gamma
        self.random = np.random.default_rng(seed)
        self.state, _ = env.reset(seed=seed)
        self.build()

    @abstractmethod
    def build(self) -> None: ...

    @abstractmethod
    def update(self, batch: Batch) -> None: ...

    def train(self, steps: int) -> None:
        for _ in range(steps // self.batch):
            self.update(self.walk(self.batch))

    def choose(self, state: Tensor) -> Any:  # noqa: ARG002
        """An action to learn from: any, unless an agent has a policy of its own."""
        return self.random.integers(2)

    def best(self, state: Tensor) -> Any:
        """The action that it thinks is right."""
        return self.choose(state)

    def value(self, state: Any) -> float:
        """What it expects from here on. Agents without a critic are not asked, or say it otherwise."""
        with torch.no_grad():
            return float(self.critic(torch.as_tensor(state)))

    def act(self, state: Any) -> Any:
        with torch.no_grad():
            return np.asarray(self.best(torch.as_tensor(state)))

    def walk(self, steps: int) -> Batch:
        """Go on in the environment; what happened, as tensors."""
        rows = []
        for _ in range(steps):
            with torch.no_grad():
                action = np.asarray(self.choose(torch.as_tensor(self.state)))
            following, reward, terminated, truncated, _ = self.env.step(action)
            rows.append((self.state, action, reward, following, terminated))
            self.state = self.env.reset()[0] if terminated or truncated else following
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        return Batch(*(torch.as_tensor(c if c.dtype == np.int64 else c.astype(np.float32)) for c in columns))


class Acting(Practice):
    """Draws its actions by the logits of an actor."""

    actor: nn.Module

    def choose(self, state: Tensor) -> Any:
        """Without torch where it can be: acting has no graph."""
        logits = self.actor(state).numpy()
        return (logits + self.random.gumbel(size=len(logits))).argmax()

    def best(self, state: Tensor) -> Any:
        return self.actor(state).argmax()


def network(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, outputs))
