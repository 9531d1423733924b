"""Small, quick agents that are right, written so that a subclass can get one thing wrong.

A Q-learner, an actor-critic for discrete actions, the same for continuous ones, and one with a memory. Every place
where agents go wrong is a method of its own.
"""
# mypy: disallow-untyped-calls=False

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution, Independent, Normal

Distribution.set_default_validate_args(False)  # Checking every action takes a third of the time.


def mlp(inputs: int, outputs: int, hidden: int = 32) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, outputs))


class Batch(NamedTuple):
    obs: Tensor
    action: Tensor
    reward: Tensor
    next_obs: Tensor
    terminated: Tensor
    truncated: Tensor
    reset_obs: Tensor
    """What the environment showed next: after the end of an episode, the first observation of the following one."""


class Learner(ABC):
    """What all of them share: the walk through the environment, and its record."""

    def __init__(self, env: Any, gamma: float = 0.6, seed: int = 0) -> None:
        self.env = env
        self.gamma = gamma
        self.random = np.random.default_rng(seed)
        self.obs, _ = env.reset(seed=seed)
        self.build()

    @abstractmethod
    def build(self) -> None:
        """Networks and optimizers."""

    @abstractmethod
    def explore(self, obs: Any) -> Any:
        """An action to learn from."""

    def walk(self, steps: int) -> list[tuple[Any, ...]]:
        out = []
        for _ in range(steps):
            action = self.explore(self.obs)
            next_obs, reward, terminated, truncated, _ = self.env.step(action)
            shown = next_obs
            if terminated or truncated:
                shown = self.env.reset()[0]
                self.forget()
            out.append((self.obs, action, reward, next_obs, terminated, truncated, shown))
            self.obs = shown
        return out

    def forget(self) -> None:  # noqa: B027
        """At the end of an episode; most have nothing to forget."""

    def mask(self, batch: Batch) -> Tensor:
        """1 where the next observation has a value: everywhere but after a terminal state."""
        return 1.0 - batch.terminated

    def following(self, batch: Batch) -> Tensor:
        """The observation whose value is bootstrapped from."""
        return batch.next_obs


def stacked(rows: list[tuple[Any, ...]]) -> Batch:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Batch(*(torch.as_tensor(c if c.dtype == np.int64 else c.astype(np.float32)) for c in columns))


class Dqn(Learner):
    def build(self) -> None:
        self.q = mlp(2, 2)
        self.target = mlp(2, 2)
        self.target.load_state_dict(self.q.state_dict())
        self.optimizer = torch.optim.Adam(self.trained(), lr=0.01)
        self.rows: list[tuple[Any, ...]] = []

    def trained(self) -> list[nn.Parameter]:
        return list(self.q.parameters())

    def explore(self, obs: Any) -> int:
        return int(self.random.integers(2))

    def train(self, steps: int) -> None:
        for _ in range(steps // 4):
            self.rows += self.walk(4)
            picked = self.random.integers(len(self.rows), size=64)
            self.learn(stacked([self.rows[i] for i in picked]))

    def learn(self, batch: Batch) -> None:
        loss = self.loss(self.taken(batch), self.aim(batch))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for old, new in zip(self.target.parameters(), self.q.parameters(), strict=True):
                old.lerp_(new, 0.1)

    def taken(self, batch: Batch) -> Tensor:
        values: Tensor = self.q(self.seen(batch))
        return values.gather(1, batch.action.unsqueeze(1)).squeeze(1)

    def seen(self, batch: Batch) -> Tensor:
        return batch.obs

    def aim(self, batch: Batch) -> Tensor:
        with torch.no_grad():
            ahead: Tensor = self.target(self.following(batch)).max(1).values
        return self.earned(batch) + self.discount() * self.mask(batch) * ahead

    def earned(self, batch: Batch) -> Tensor:
        return batch.reward

    def discount(self) -> float:
        return self.gamma

    def loss(self, prediction: Tensor, aim: Tensor) -> Tensor:
        return nn.functional.mse_loss(prediction, aim)

    def act(self, obs: Any) -> int:
        with torch.no_grad():
            return int(self.q(torch.as_tensor(obs)).argmax())

    def value(self, obs: Any) -> float:
        with torch.no_grad():
            return float(self.q(torch.as_tensor(obs)).max())


class ActorCritic(Learner):
    ROLLOUT, EPOCHS, LAMBDA = 50, 8, 0.9

    def build(self) -> None:
        self.actor = mlp(2, self.choices())
        self.critic = mlp(2, 1)
        self.optimizer = torch.optim.Adam(self.trained(), lr=0.01)

    def trained(self) -> list[nn.Parameter]:
        return [*self.actor.parameters(), *self.critic.parameters()]

    def choices(self) -> int:
        return 2

    def policy(self, obs: Tensor) -> Distribution:
        return Categorical(logits=self.actor(obs))

    def explore(self, obs: Any) -> Any:
        with torch.no_grad():
            return self.policy(torch.as_tensor(obs)).sample().numpy()

    def train(self, steps: int) -> None:
        for _ in range(steps // self.ROLLOUT):
            self.learn(stacked(self.walk(self.ROLLOUT)))

    def learn(self, batch: Batch) -> None:
        with torch.no_grad():
            advantage = self.advantage(batch)
            returns = self.returns(batch, advantage)
            old = self.policy(self.watched(batch)).log_prob(batch.action)
        for _ in range(self.EPOCHS):
            ratio = (self.policy(self.watched(batch)).log_prob(batch.action) - old).exp()
            loss = self.policy_loss(ratio, self.normal(advantage)) + self.value_loss(self.predicted(batch), returns)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def advantage(self, batch: Batch) -> Tensor:
        value, ahead = self.critic(batch.obs).squeeze(1), self.critic(self.following(batch)).squeeze(1)
        errors = self.earned(batch) + self.discount() * self.mask(batch) * ahead - value
        ended = torch.maximum(batch.terminated, batch.truncated)
        kept = (self.discount() * self.LAMBDA * (1 - ended)).tolist()
        out, last = errors.tolist(), 0.0
        for t in reversed(range(len(out))):
            last = out[t] = out[t] + kept[t] * last
        return torch.tensor(out)

    def earned(self, batch: Batch) -> Tensor:
        return batch.reward

    def discount(self) -> float:
        return self.gamma

    def returns(self, batch: Batch, advantage: Tensor) -> Tensor:
        values: Tensor = self.critic(batch.obs)
        return advantage + values.squeeze(1)

    def normal(self, advantage: Tensor) -> Tensor:
        return (advantage - advantage.mean()) / (advantage.std() + 1e-3)

    def watched(self, batch: Batch) -> Tensor:
        """What the policy sees when it learns."""
        return batch.obs

    def predicted(self, batch: Batch) -> Tensor:
        values: Tensor = self.critic(batch.obs)
        return values.squeeze(1)

    def policy_loss(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        return -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()

    def value_loss(self, prediction: Tensor, returns: Tensor) -> Tensor:
        return nn.functional.mse_loss(prediction, returns)

    def act(self, obs: Any) -> Any:
        with torch.no_grad():
            return self.policy(torch.as_tensor(obs)).mode.numpy()

    def value(self, obs: Any) -> float:
        with torch.no_grad():
            return float(self.critic(torch.as_tensor(obs)))


class Gaussian(ActorCritic):
    """The same with continuous actions: a mean from the network, a deviation of its own, scaled to the bounds."""

    def build(self) -> None:
        self.log_std = nn.Parameter(torch.full((self.choices(),), -0.7))
        super().build()

    def trained(self) -> list[nn.Parameter]:
        return [*super().trained(), self.log_std]

    def choices(self) -> int:
        return int(self.env.action_space.shape[0])

    def policy(self, obs: Tensor) -> Distribution:
        scale = self.scale()
        return Independent(Normal(self.actor(obs) * scale, self.log_std.exp() * scale), 1)

    def scale(self) -> Tensor:
        return torch.as_tensor(self.env.action_space.high)


class Remembering(ActorCritic):
    """The policy carries a state from step to step, and learns through it."""

    recurrent = True
    ROLLOUT = 60

    def build(self) -> None:
        self.cell = nn.GRUCell(2, 16)
        super().build()
        self.actor = mlp(18, self.choices())
        self.optimizer = torch.optim.Adam([*self.trained(), *self.cell.parameters()], lr=0.01)
        self.forget()

    def forget(self) -> None:
        self.state = torch.zeros(16)

    def reset(self) -> None:
        self.forget()

    def remember(self, obs: Any) -> Tensor:
        """What the policy knows now: what it carries along, and what it sees."""
        seen = torch.as_tensor(obs)
        self.state = self.cell(seen, self.state)
        return torch.cat([self.state, seen], -1)

    def explore(self, obs: Any) -> Any:
        with torch.no_grad():
            return self.policy(self.remember(obs)).sample().numpy()

    def act(self, obs: Any) -> Any:
        with torch.no_grad():
            return self.policy(self.remember(obs)).mode.numpy()

    def learn(self, batch: Batch) -> None:
        after = self.state
        super().learn(batch)
        self.state = after

    def train(self, steps: int) -> None:
        for _ in range(steps // self.ROLLOUT):
            self.before = self.state
            self.learn(stacked(self.walk(self.ROLLOUT)))

    def watched(self, batch: Batch) -> Tensor:
        self.state = self.before
        ended = torch.maximum(batch.terminated, batch.truncated).tolist()
        out = []
        for seen, last in zip(batch.obs, ended, strict=True):
            out.append(self.remember(seen))
            if last:
                self.forget()
        return torch.stack(out)
