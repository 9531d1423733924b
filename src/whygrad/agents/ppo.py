"""Proximal policy optimisation (Schulman et al. 2017), with discrete and continuous actions.

python -m whygrad.agents.ppo --env-id CartPole-v1 --steps 50000 --seed 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from whygrad.agents import command
from whygrad.agents.actor_critic import ActorCritic
from whygrad.agents.advantages import gae
from whygrad.agents.environments import Environments, Source
from whygrad.agents.fast.adam import Adam, clip_gradients
from whygrad.agents.fast.graphs import graphed
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
    envs: int = 1
    rollout: int = 1024
    """Steps per environment between updates."""
    epochs: int = 10
    minibatch: int = 64
    learning_rate: float = 3e-4
    anneal: bool = False
    """Let the learning rate fall to zero over the training."""
    gamma: float = 0.99
    trace: float = 0.95
    """Lambda of the advantage estimation: 0 trusts the critic, 1 the returns."""
    clip: float = 0.2
    value_weight: float = 0.5
    entropy_weight: float = 0.0
    max_gradient: float = 0.5
    """Norm that gradients are clipped to."""
    hidden: tuple[int, ...] = (64, 64)
    activation: str = "tanh"
    log_std: float = 0.0
    """Where the logarithm of the policy's width starts, for continuous actions."""
    cuda_graph: bool = False
    """On a GPU, replay the update of a minibatch as one CUDA graph."""


PRESETS = {
    "CartPole-v1": {"learning_rate": 1e-3, "gamma": 0.98},
    "Pendulum-v1": {"steps": 100_000, "learning_rate": 1e-3, "gamma": 0.9, "log_std": -0.5},
}

# -- network


def build(spaces: Spaces, config: Config) -> ActorCritic:
    return ActorCritic(spaces, config.hidden, config.activation, config.log_std)


# -- losses


class Batch(NamedTuple):
    """A rollout without its order; everything but the observations was computed before the first update."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    """Of the actions, under the policy that chose them."""
    advantages: Tensor
    returns: Tensor


def clipped_surrogate_loss(log_prob: Tensor, batch: Batch, clip: float) -> Tensor:
    """Trains the actor alone: `log_prob` is the only tensor here with a history.

    The old log-probabilities are the denominator of the ratio. With gradient they would cancel the numerator's.
    The advantages say how good an action was: gradient into the critic would make it flatter the actor.
    """
    ratio = (log_prob - batch.log_probs).exp()
    gain = torch.min(ratio * batch.advantages, ratio.clamp(1 - clip, 1 + clip) * batch.advantages)
    return -gain.mean()


def value_loss(value: Tensor, batch: Batch) -> Tensor:
    """Trains the critic alone, towards returns that it helped to estimate and that are constants here."""
    return (value - batch.returns).square().mean()


# -- one update


def prepare(agent: ActorCritic, rollout: Rollout, config: Config, device: str) -> Batch:
    """Values, advantages and old log-probabilities, each in one pass over the whole rollout."""
    observations, actions, rewards, terminated, ended = rollout.tensors(device)
    values, following = rollout.values(agent.value, observations)
    advantages = gae(rewards, values, following, terminated, ended, config.gamma, config.trace)
    flat = observations.flatten(0, 1), actions.flatten(0, 1)
    with torch.no_grad():
        log_probs, _ = agent.evaluate(*flat)
    return Batch(*flat, log_probs, advantages.flatten(), (advantages + values).flatten())


class Learned(NamedTuple):
    """What one minibatch came to."""

    policy_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    gradient: Tensor
    log_prob: Tensor


Learn = Callable[[Batch], Learned]


def learning(agent: ActorCritic, optimizer: Adam, config: Config) -> Learn:
    """One step on one minibatch."""

    def learn(part: Batch) -> Learned:
        part = part._replace(advantages=normalised(part.advantages))
        log_prob, entropy = agent.evaluate(part.observations, part.actions)
        policy_loss = clipped_surrogate_loss(log_prob, part, config.clip)
        critic_loss = value_loss(agent.value(part.observations), part)
        loss = policy_loss + config.value_weight * critic_loss
        if config.entropy_weight:
            loss = loss - config.entropy_weight * entropy.mean()
        optimizer.zero_grad()
        loss.backward()
        norm = clip_gradients(optimizer.parameters, config.max_gradient)
        optimizer.step()
        return Learned(policy_loss, critic_loss, entropy, norm, log_prob)

    return learn


def update(learn: Learn, batch: Batch, config: Config) -> dict[str, Tensor]:
    """Several epochs over one rollout; returns the metrics of the last minibatch."""
    for _ in range(config.epochs):
        order = torch.randperm(len(batch.returns), device=batch.returns.device)
        for rows in zip(*(part[order].split(config.minibatch) for part in batch), strict=True):
            part = Batch(*rows)
            last = learn(part)
    metrics = {"policy_loss": last.policy_loss, "value_loss": last.value_loss, "entropy": last.entropy.mean()}
    return metrics | {"gradient": last.gradient} | drift(last.log_prob - part.log_probs, config.clip)


def normalised(advantages: Tensor) -> Tensor:
    """With one advantage there is no spread to divide by."""
    if len(advantages) < 2:
        return advantages
    std, mean = torch.std_mean(advantages)
    return (advantages - mean) / (std + 1e-8)


@torch.no_grad()
def drift(log_ratio: Tensor, clip: float) -> dict[str, Tensor]:
    """How far the policy has moved from the one that collected the rollout."""
    ratio = log_ratio.exp()
    return {"approx_kl": (ratio - 1 - log_ratio).mean(), "clip_fraction": ((ratio - 1).abs() > clip).float().mean()}


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
    if config.cuda_graph and config.anneal:
        raise ValueError("cuda_graph and anneal exclude each other: a graph keeps the learning rate it began with")
    device = place(device)
    log = Log(config.steps, progress)
    envs = Environments(env, config.envs, seed, log)
    agent = build(envs.spaces, config).to(device)
    optimizer = Adam(agent.parameters(), config.learning_rate, eps=1e-5)
    learn = graphed(learning(agent, optimizer, config), device, config.cuda_graph)
    choose = agent.sampler(np.random.default_rng(seed))
    while log.going():
        if config.anneal:
            optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - log.step / config.steps)
        batch = prepare(agent, collect(envs, choose, config.rollout), config, device)
        log.record(**update(learn, batch, config))
    envs.close()
    return Result.of(Policy("ppo", agent, envs.spaces, config, device), log)


if __name__ == "__main__":
    command.main("ppo", Config, train)
