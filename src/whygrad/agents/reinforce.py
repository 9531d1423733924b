"""REINFORCE (Williams 1992) with a learned baseline, on whole episodes, with discrete and continuous actions.

python -m whygrad.agents.reinforce --env-id CartPole-v1 --steps 100000 --seed 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from whygrad.agents import command
from whygrad.agents.actor_critic import ActorCritic
from whygrad.agents.advantages import returns_to_go
from whygrad.agents.environments import Environments, Source
from whygrad.agents.fast.adam import Adam, clip_gradients
from whygrad.agents.fast.rollout import Episode, episode
from whygrad.agents.log import Log, Progress
from whygrad.agents.policy import Policy, Result
from whygrad.agents.settings import place, settle
from whygrad.agents.spaces import Spaces

# -- settings


@dataclass(frozen=True)
class Config:
    """Defaults suit cheap environments; `PRESETS` holds what differs for some."""

    steps: int = 100_000
    episodes: int = 4
    """Whole episodes between updates."""
    longest: int = 2_000
    """Steps after which an episode is cut short where the environment does not do it."""
    learning_rate: float = 3e-3
    anneal: bool = False
    """Let the learning rate fall to zero over the training."""
    gamma: float = 0.99
    value_weight: float = 0.5
    """Of the baseline's loss."""
    entropy_weight: float = 0.0
    max_gradient: float = 0.5
    """Norm that gradients are clipped to."""
    hidden: tuple[int, ...] = (64, 64)
    activation: str = "tanh"
    log_std: float = 0.0
    """Where the logarithm of the policy's width starts, for continuous actions."""


PRESETS: dict[str, dict[str, object]] = {"CartPole-v1": {}}

# -- network


def build(spaces: Spaces, config: Config) -> ActorCritic:
    """The critic is the baseline: it never enters a return that ends by itself."""
    return ActorCritic(spaces, config.hidden, config.activation, config.log_std)


# -- losses


class Batch(NamedTuple):
    """Whole episodes; nothing in it has a history."""

    observations: Tensor
    actions: Tensor
    advantages: Tensor
    """Returns, less what the baseline expected."""
    returns: Tensor


def policy_gradient_loss(log_prob: Tensor, batch: Batch) -> Tensor:
    """Trains the actor alone: the gradient of this is the policy gradient, its value means nothing.

    The baseline is subtracted as a number: it lowers the variance because it does not depend on the action, and
    gradient into it would make it flatter the actor.
    """
    return -(log_prob * batch.advantages).mean()


def value_loss(value: Tensor, batch: Batch) -> Tensor:
    """Trains the baseline alone, towards what was collected."""
    return (value - batch.returns).square().mean()


# -- one update


def prepare(agent: ActorCritic, episodes: list[Episode], config: Config, device: str) -> Batch:
    """Returns of whole episodes; one that was cut short goes on with what the baseline expects."""
    observations = torch.from_numpy(np.concatenate([e.observations for e in episodes])).to(device)
    actions = torch.from_numpy(np.concatenate([e.actions for e in episodes])).to(device)
    last = torch.from_numpy(np.stack([e.last for e in episodes])).to(device)
    with torch.no_grad():
        values, beyond = agent.value(observations), agent.value(last)
    going_on = beyond.cpu().numpy() * np.array([not e.terminated for e in episodes])
    collected = [returns_to_go(e.rewards, v, config.gamma) for e, v in zip(episodes, going_on, strict=True)]
    returns = torch.from_numpy(np.concatenate(collected)).to(device)
    return Batch(observations, actions, returns - values, returns)


def update(agent: ActorCritic, optimizer: Adam, batch: Batch, config: Config) -> dict[str, Tensor]:
    """One step on a few episodes."""
    log_prob, entropy = agent.evaluate(batch.observations, batch.actions)
    policy_loss = policy_gradient_loss(log_prob, batch)
    baseline_loss = value_loss(agent.value(batch.observations), batch)
    loss = policy_loss + config.value_weight * baseline_loss
    if config.entropy_weight:
        loss = loss - config.entropy_weight * entropy.mean()
    optimizer.zero_grad()
    loss.backward()
    norm = clip_gradients(optimizer.parameters, config.max_gradient)
    optimizer.step()
    return {"policy_loss": policy_loss, "value_loss": baseline_loss, "entropy": entropy.mean(), "gradient": norm}


# -- training


def train(
    env: Source,
    *,
    steps: int | None = None,
    seed: int = 1,
    device: str = "cpu",
    config: Config | None = None,
    progress: Progress | None = None,
    **overrides: object,
) -> Result:
    """Train on an environment id, or on what a function without arguments makes."""
    config = settle(Config(), PRESETS, env, config, {**overrides, "steps": steps})
    device = place(device)
    log = Log(config.steps, progress)
    envs = Environments(env, 1, seed, log)
    agent = build(envs.spaces, config).to(device)
    optimizer = Adam(agent.parameters(), config.learning_rate, eps=1e-5)
    choose = agent.sampler(np.random.default_rng(seed))
    while log.going():
        if config.anneal:
            optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - log.step / config.steps)
        episodes = [episode(envs, choose, config.longest) for _ in range(config.episodes)]
        log.sometimes(**update(agent, optimizer, prepare(agent, episodes, config, device), config))
    envs.close()
    return Result.of(Policy("reinforce", agent, envs.spaces, config, device), log)


if __name__ == "__main__":
    command.main("reinforce", Config, train)
