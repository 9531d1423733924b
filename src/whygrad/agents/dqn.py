"""Deep Q-learning (Mnih et al. 2015), with the double (van Hasselt 2016) and dueling (Wang 2016) variants.

python -m whygrad.agents.dqn --env-id CartPole-v1 --steps 50000 --seed 1
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from whygrad.agents import command
from whygrad.agents.environments import Environments, Source
from whygrad.agents.fast import inference
from whygrad.agents.fast.adam import Adam, clip_gradients
from whygrad.agents.fast.following import follow
from whygrad.agents.fast.replay import Replay, Transitions
from whygrad.agents.log import Log, Progress
from whygrad.agents.networks import Dueling, network
from whygrad.agents.policy import Policy, Result
from whygrad.agents.settings import place, settle
from whygrad.agents.spaces import Spaces

# -- settings


@dataclass(frozen=True)
class Config:
    """Defaults suit cheap environments; `PRESETS` holds what differs for some."""

    steps: int = 50_000
    learning_starts: int = 1_000
    """Steps before the first update."""
    train_every: int = 4
    batch: int = 128
    capacity: int = 100_000
    """Transitions that are remembered."""
    learning_rate: float = 1e-3
    gamma: float = 0.99
    target_every: int = 250
    """Steps between two updates of the target network."""
    tau: float = 1.0
    """How far the target network then goes: 1 copies the trained one, less draws towards it (Polyak)."""
    epsilon: float = 1.0
    epsilon_end: float = 0.02
    explore: float = 0.2
    """Share of the training over which epsilon falls from the first to the second."""
    max_gradient: float = 10.0
    double: bool = False
    dueling: bool = False
    hidden: tuple[int, ...] = (64, 64)
    activation: str = "relu"


PRESETS: dict[str, dict[str, object]] = {"CartPole-v1": {}}

# -- network


class QNetwork(nn.Sequential):
    """A value per action."""

    def act(self, observations: Tensor) -> Tensor:
        values: Tensor = self(observations)
        return values.argmax(-1)

    sample = act

    def value(self, observations: Tensor) -> Tensor:
        values: Tensor = self(observations)
        return values.amax(-1)


def build(spaces: Spaces, config: Config) -> QNetwork:
    if not spaces.discrete:
        raise ValueError("dqn takes discrete actions only; for continuous ones use sac or ppo")
    if config.dueling:
        return QNetwork(Dueling(spaces, config.hidden, config.activation))
    return QNetwork(*network(spaces, spaces.actions, config.hidden, config.activation))


# -- losses


def td_target(q_net: nn.Module, target_net: nn.Module, batch: Transitions, gamma: float, double: bool) -> Tensor:
    """What the values should have been: a constant. With gradient, the target would move to meet the prediction.

    Double Q-learning lets the trained network choose the next action and the target network value it.
    """
    with torch.no_grad():
        following = target_net(batch.next_observations)
        if double:
            best = q_net(batch.next_observations).argmax(-1, keepdim=True)
            value = following.gather(-1, best).squeeze(-1)
        else:
            value = following.amax(-1)
        target: Tensor = batch.rewards + gamma * (1 - batch.terminated) * value
    return target


def td_loss(q_net: nn.Module, target_net: nn.Module, batch: Transitions, gamma: float, double: bool) -> Tensor:
    """Trains `q_net` alone, through the value of the action that was taken."""
    target = td_target(q_net, target_net, batch, gamma, double)
    taken = q_net(batch.observations).gather(-1, batch.actions.unsqueeze(-1)).squeeze(-1)
    return nn.functional.smooth_l1_loss(taken, target)


# -- one update


def update(
    q_net: nn.Module, target_net: nn.Module, optimizer: Adam, batch: Transitions, config: Config
) -> dict[str, Tensor]:
    loss = td_loss(q_net, target_net, batch, config.gamma, config.double)
    optimizer.zero_grad()
    loss.backward()
    norm = clip_gradients(optimizer.parameters, config.max_gradient)
    optimizer.step()
    return {"td_loss": loss, "gradient": norm}


def epsilon(step: int, config: Config) -> float:
    """Falls in a straight line, then stays."""
    done = min(1.0, step / max(1.0, config.explore * config.steps))
    return config.epsilon + done * (config.epsilon_end - config.epsilon)


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
    q_net = build(envs.spaces, config).to(device)
    target_net = copy.deepcopy(q_net)
    optimizer = Adam(q_net.parameters(), config.learning_rate)
    replay = Replay(min(config.capacity, config.steps), envs.spaces, device)
    q_values, rng = inference.forward(q_net), np.random.default_rng(seed)
    while log.going():
        observation = envs.observations[0].copy()
        if rng.random() < epsilon(log.step, config):
            action = envs.spaces.random(rng)
        else:
            action = q_values(observation[None])[0].argmax()
        following, reward, terminated, _ = envs.step(0, action)
        replay.add(observation, action, reward, following, terminated)
        if log.step >= config.learning_starts and log.step % config.train_every == 0:
            metrics = update(q_net, target_net, optimizer, replay.sample(config.batch, rng), config)
            log.sometimes(**metrics, epsilon=epsilon(log.step, config))
        if log.step % config.target_every == 0:
            follow(target_net, q_net, config.tau)
    envs.close()
    return Result.of(Policy("dqn", q_net, envs.spaces, config, device), log)


if __name__ == "__main__":
    command.main("dqn", Config, train)
