"""Advantage actor-critic (Mnih et al. 2016, in step), with discrete and continuous actions.

python -m whygrad.agents.a2c --env-id CartPole-v1 --steps 50000 --seed 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from torch import Tensor

from whygrad.agents import command
from whygrad.agents.actor_critic import ActorCritic
from whygrad.agents.advantages import gae
from whygrad.agents.environments import Environments, Source
from whygrad.agents.fast.adam import Adam, clip_gradients
from whygrad.agents.fast.rollout import Rollout, collect
from whygrad.agents.log import Log, Progress
from whygrad.agents.policy import Policy, Result
from whygrad.agents.settings import place, settle
from whygrad.agents.spaces import Spaces

# -- settings


@dataclass(frozen=True)
class Config:
    """Defaults suit cheap environments; `PRESETS` holds what differs for some."""

    steps: int = 50_000
    envs: int = 8
    rollout: int = 8
    """Steps per environment between updates."""
    learning_rate: float = 2e-3
    anneal: bool = False
    """Let the learning rate fall to zero over the training."""
    gamma: float = 0.99
    trace: float = 0.95
    """Lambda of the advantage estimation: 0 trusts the critic, 1 the returns."""
    value_weight: float = 0.5
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
    return ActorCritic(spaces, config.hidden, config.activation, config.log_std)


# -- losses


class Batch(NamedTuple):
    """A rollout without its order; nothing in it has a history."""

    observations: Tensor
    actions: Tensor
    advantages: Tensor
    returns: Tensor


def policy_gradient_loss(log_prob: Tensor, batch: Batch) -> Tensor:
    """Trains the actor alone: the gradient of this is the policy gradient, its value means nothing.

    The advantages say how good an action was: gradient into the critic would make it flatter the actor.
    """
    return -(log_prob * batch.advantages).mean()


def value_loss(value: Tensor, batch: Batch) -> Tensor:
    """Trains the critic alone, towards returns that it helped to estimate and that are constants here."""
    return (value - batch.returns).square().mean()


# -- one update


def prepare(agent: ActorCritic, rollout: Rollout, config: Config, device: str) -> Batch:
    """Values and advantages, in one pass over the whole rollout."""
    observations, actions, rewards, terminated, ended = rollout.tensors(device)
    values, following = rollout.values(agent.value, observations)
    advantages = gae(rewards, values, following, terminated, ended, config.gamma, config.trace)
    flat = observations.flatten(0, 1), actions.flatten(0, 1)
    return Batch(*flat, advantages.flatten(), (advantages + values).flatten())


def update(agent: ActorCritic, optimizer: Adam, batch: Batch, config: Config) -> dict[str, Tensor]:
    """One step on one rollout."""
    log_prob, entropy = agent.evaluate(batch.observations, batch.actions)
    policy_loss = policy_gradient_loss(log_prob, batch)
    critic_loss = value_loss(agent.value(batch.observations), batch)
    loss = policy_loss + config.value_weight * critic_loss
    if config.entropy_weight:
        loss = loss - config.entropy_weight * entropy.mean()
    optimizer.zero_grad()
    loss.backward()
    norm = clip_gradients(optimizer.parameters, config.max_gradient)
    optimizer.step()
    return {"policy_loss": policy_loss, "value_loss": critic_loss, "entropy": entropy.mean(), "gradient": norm}


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
    envs = Environments(env, config.envs, seed, log)
    agent = build(envs.spaces, config).to(device)
    optimizer = Adam(agent.parameters(), config.learning_rate, eps=1e-5)
    choose = agent.sampler(np.random.default_rng(seed))
    while log.going():
        if config.anneal:
            optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - log.step / config.steps)
        batch = prepare(agent, collect(envs, choose, config.rollout), config, device)
        log.sometimes(**update(agent, optimizer, batch, config))
    envs.close()
    return Result.of(Policy("a2c", agent, envs.spaces, config, device), log)


if __name__ == "__main__":
    command.main("a2c", Config, train)
