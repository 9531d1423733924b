"""Soft actor-critic (Haarnoja et al. 2018), continuous, and discrete (Christodoulou 2019).

python -m whygrad.agents.sac --env-id Pendulum-v1 --steps 8000 --seed 1
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from whygrad.agents import command
from whygrad.agents.environments import Environments, Source
from whygrad.agents.fast.adam import Adam
from whygrad.agents.fast.following import follow
from whygrad.agents.fast.graphs import graphed
from whygrad.agents.fast.replay import Replay, Transitions
from whygrad.agents.fast.twin import TwinCritic
from whygrad.agents.log import Log, Progress
from whygrad.agents.policy import Policy, Result
from whygrad.agents.settings import place, settle
from whygrad.agents.soft_actor_critic import SoftActorCritic, squashed
from whygrad.agents.spaces import Spaces

# -- settings


@dataclass(frozen=True)
class Config:
    """Defaults suit cheap environments; `PRESETS` holds what differs for some."""

    steps: int = 8_000
    learning_starts: int = 1_000
    """Steps of random actions before the first update."""
    train_every: int = 1
    batch: int = 128
    capacity: int = 100_000
    """Transitions that are remembered."""
    learning_rate: float = 1e-3
    gamma: float = 0.99
    tau: float = 0.005
    """How far the target critics go towards the trained ones after each update."""
    temperature: float = 1.0
    """What an entropy of one is worth in reward, at the start."""
    learn_temperature: bool = True
    target_entropy: float = -1.0
    """The temperature is learned so that entropy comes to this, per dimension of a continuous action."""
    discrete_entropy: float = 0.5
    """The same for discrete actions, as a share of the largest entropy."""
    hidden: tuple[int, ...] = (64, 64)
    cuda_graph: bool = False
    """On a GPU, replay the update as one CUDA graph."""


PRESETS: dict[str, dict[str, object]] = {
    "CartPole-v1": {"steps": 20_000, "train_every": 2},
    "Pendulum-v1": {"learning_rate": 2e-3, "tau": 0.01, "temperature": 0.2},
}

# -- network


def build(spaces: Spaces, config: Config) -> SoftActorCritic:
    if not spaces.discrete and not spaces.bounded:
        raise ValueError("sac needs bounds to squash continuous actions into; for actions without bounds use ppo")
    return SoftActorCritic(spaces, config.hidden, config.temperature)


def entropy_target(spaces: Spaces, config: Config) -> float:
    if spaces.discrete:
        return config.discrete_entropy * math.log(spaces.actions)
    return config.target_entropy * len(spaces.low)


# -- losses


def judged(agent: SoftActorCritic, critic: TwinCritic, observations: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """What the critics think of the policy's action, and its log-probability; expectations if actions are discrete.

    The critics are constants here: gradient passes through them to the action and leaves their weights alone. What
    the actor's loss deposited there would only be thrown away.
    """
    out = agent.actor(observations)
    if agent.discrete:
        log_probs = out.log_softmax(-1)
        probs = log_probs.exp()
        value = critic(observations, constant=True).amin(0)
        return (probs * value).sum(-1), (probs * log_probs).sum(-1)
    action, log_prob = squashed(out, noise)
    return critic(observations, action, constant=True).amin(0).squeeze(-1), log_prob


def soft_target(
    agent: SoftActorCritic, target_critic: TwinCritic, batch: Transitions, noise: Tensor, gamma: float
) -> Tensor:
    """What the values should have been: a constant, made by critics that follow slowly."""
    with torch.no_grad():
        value, log_prob = judged(agent, target_critic, batch.next_observations, noise)
        return batch.rewards + gamma * (1 - batch.terminated) * (value - agent.log_alpha.exp() * log_prob)


def soft_q_loss(critic: TwinCritic, batch: Transitions, target: Tensor) -> Tensor:
    """Trains both critics, through the values of the actions that were taken."""
    if batch.actions.is_floating_point():
        taken = critic(batch.observations, batch.actions).squeeze(-1)
    else:
        rows = batch.actions.expand(2, -1).unsqueeze(-1)
        taken = critic(batch.observations).gather(-1, rows).squeeze(-1)
    loss: Tensor = 0.5 * (taken - target).square().mean(1).sum()
    return loss


def actor_loss(value: Tensor, log_prob: Tensor, log_alpha: Tensor) -> Tensor:
    """Trains the actor alone. With gradient, the temperature would fall to make the policy look better."""
    return (log_alpha.detach().exp() * log_prob - value).mean()


def temperature_loss(log_alpha: Tensor, log_prob: Tensor, target_entropy: float) -> Tensor:
    """Trains the temperature alone: up while entropy is below its target. The policy is only measured."""
    return -(log_alpha * (log_prob.detach() + target_entropy)).mean()


# -- one update


class Optimizers(NamedTuple):
    actor: Adam
    critic: Adam
    temperature: Adam


def optimizers(agent: SoftActorCritic, rate: float) -> Optimizers:
    actor_optimizer = Adam(agent.actor.parameters(), rate)
    critic_optimizer = Adam(agent.critic.parameters(), rate)
    temperature_optimizer = Adam([agent.log_alpha], rate)
    return Optimizers(actor_optimizer, critic_optimizer, temperature_optimizer)


def update(
    agent: SoftActorCritic,
    target_critic: TwinCritic,
    optimizers: Optimizers,
    batch: Transitions,
    config: Config,
    target_entropy: float,
) -> dict[str, Tensor]:
    """Critics, actor, temperature, target critics: each once."""
    noise = torch.randn(2, *batch.actions.shape, device=batch.rewards.device)
    target = soft_target(agent, target_critic, batch, noise[0], config.gamma)
    q_loss = soft_q_loss(agent.critic, batch, target)
    optimizers.critic.zero_grad()
    q_loss.backward()
    optimizers.critic.step()

    value, log_prob = judged(agent, agent.critic, batch.observations, noise[1])
    policy_loss = actor_loss(value, log_prob, agent.log_alpha)
    optimizers.actor.zero_grad()
    policy_loss.backward()
    optimizers.actor.step()

    if config.learn_temperature:
        alpha_loss = temperature_loss(agent.log_alpha, log_prob, target_entropy)
        optimizers.temperature.zero_grad()
        alpha_loss.backward()
        optimizers.temperature.step()
    follow(target_critic, agent.critic, config.tau)
    return {"q_loss": q_loss, "actor_loss": policy_loss, "log_prob": log_prob.mean(), "log_alpha": agent.log_alpha}


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
    target_critic = copy.deepcopy(agent.critic)
    target_entropy = entropy_target(envs.spaces, config)
    learners = optimizers(agent, config.learning_rate)

    def learned(batch: Transitions) -> dict[str, Tensor]:
        return update(agent, target_critic, learners, batch, config, target_entropy)

    learn = graphed(learned, device, config.cuda_graph)
    replay = Replay(min(config.capacity, config.steps), envs.spaces, device)
    rng = np.random.default_rng(seed)
    choose = agent.sampler(rng)
    while log.going():
        observation = envs.observations[0].copy()
        action = envs.spaces.random(rng) if log.step < config.learning_starts else choose(observation[None])[0]
        following, reward, terminated, _ = envs.step(0, action)
        replay.add(observation, action, reward, following, terminated)
        if log.step >= config.learning_starts and log.step % config.train_every == 0:
            log.sometimes(**learn(replay.sample(config.batch, rng)))
    envs.close()
    return Result.of(Policy("sac", agent, envs.spaces, config, device), log)


if __name__ == "__main__":
    command.main("sac", Config, train)
