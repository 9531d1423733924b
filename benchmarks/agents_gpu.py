"""Steps per second of PPO and SAC where thousands of environments live on the device themselves.

    python benchmarks/agents_gpu.py --device cuda --envs 4096 --json gpu.json
    python benchmarks/agents_gpu.py --device cuda --envs 4096 --compile

CartPole and Pendulum are written here as a few tensor operations, so that nothing leaves the device; networks, losses
and updates are those of `whygrad.agents`. Needs torch and numpy, no gymnasium. The first iteration is not counted.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from whygrad.agents import ppo, sac
from whygrad.agents.advantages import gae
from whygrad.agents.fast.adam import Adam
from whygrad.agents.fast.replay import Transitions
from whygrad.agents.soft_actor_critic import SoftActorCritic
from whygrad.agents.spaces import Spaces

Stepped = tuple[Tensor, Tensor, Tensor, Tensor]
"""True next observation, reward, terminated, ended."""


class CartPole:
    """A pole on a cart, many times: the equations of the classic, episodes of at most 500 steps."""

    spaces = Spaces((4,), actions=2)

    def __init__(self, count: int, device: str) -> None:
        self.state = torch.empty(count, 4, device=device).uniform_(-0.05, 0.05)
        self.time = torch.zeros(count, device=device)

    def step(self, action: Tensor) -> Stepped:
        x, speed, angle, turn = self.state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        cos, sin = angle.cos(), angle.sin()
        push = (force + 0.05 * turn.square() * sin) / 1.1
        turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos.square() / 1.1))
        moving = push - 0.05 * turning * cos / 1.1
        state = torch.stack([x + 0.02 * speed, speed + 0.02 * moving, angle + 0.02 * turn, turn + 0.02 * turning], 1)
        self.time = self.time + 1
        over = (state[:, 0].abs() > 2.4) | (state[:, 2].abs() > 12 * math.pi / 180)
        ended = over | (self.time >= 500)
        self.state = torch.where(ended[:, None], torch.empty_like(state).uniform_(-0.05, 0.05), state)
        self.time = torch.where(ended, 0.0, self.time)
        return state, torch.ones_like(self.time), over.float(), ended.float()


class Pendulum:
    """A pendulum to swing up, many times; episodes of 200 steps, each begun at its own time."""

    spaces = Spaces((3,), low=(-2.0,), high=(2.0,), action=(1,))

    def __init__(self, count: int, device: str) -> None:
        self.angle = torch.empty(count, device=device).uniform_(-math.pi, math.pi)
        self.turn = torch.empty(count, device=device).uniform_(-1, 1)
        self.time = torch.randint(200, (count,), device=device).float()

    @property
    def state(self) -> Tensor:
        return torch.stack([self.angle.cos(), self.angle.sin(), self.turn], 1)

    def step(self, action: Tensor) -> Stepped:
        torque = 2 * action.squeeze(-1).clamp(-1, 1)
        wrapped = (self.angle + math.pi) % (2 * math.pi) - math.pi
        reward = -(wrapped.square() + 0.1 * self.turn.square() + 0.001 * torque.square())
        self.turn = (self.turn + 0.05 * (15 * self.angle.sin() + 3 * torque)).clamp(-8, 8)
        self.angle = self.angle + 0.05 * self.turn
        following = self.state
        self.time = self.time + 1
        ended = self.time >= 200
        self.angle = torch.where(ended, torch.empty_like(self.angle).uniform_(-math.pi, math.pi), self.angle)
        self.turn = torch.where(ended, torch.empty_like(self.turn).uniform_(-1, 1), self.turn)
        self.time = torch.where(ended, 0.0, self.time)
        return following, reward, torch.zeros_like(reward), ended.float()


# -- PPO


@torch.no_grad()
def rollout(agent: Any, env: CartPole, steps: int, config: ppo.Config) -> tuple[ppo.Batch, float]:
    """A batch that never left the device, and the mean length of an episode in it."""
    columns: list[list[Tensor]] = [[] for _ in range(6)]
    for _ in range(steps):
        seen = env.state
        action = agent.sample(seen)
        for column, value in zip(columns, (seen, action, *env.step(action)), strict=True):
            column.append(value)
    seen, action, following, reward, over, ended = (torch.stack(column) for column in columns)
    values = agent.value(seen.flatten(0, 1)).view_as(reward)
    next_values = agent.value(following.flatten(0, 1)).view_as(reward)
    advantages = gae(reward, values, next_values, over, ended, config.gamma, config.trace)
    flat = seen.flatten(0, 1), action.flatten(0, 1)
    log_probs, _ = agent.evaluate(*flat)
    batch = ppo.Batch(*flat, log_probs, advantages.flatten(), (advantages + values).flatten())
    return batch, reward.numel() / max(1.0, float(ended.sum()))


def run_ppo(count: int, device: str, iterations: int, compiled: bool) -> dict[str, Any]:
    steps = 32
    config = ppo.Config(minibatch=max(64, count * steps // 4), epochs=4, learning_rate=1e-3)
    env = CartPole(count, device)
    agent = ppo.build(env.spaces, config).to(device)
    if compiled:
        agent.evaluate, agent.value = torch.compile(agent.evaluate), torch.compile(agent.value)  # type: ignore[method-assign]
    optimizer = Adam(agent.parameters(), config.learning_rate, eps=1e-5)
    lengths: list[float] = []

    def iteration() -> None:
        batch, length = rollout(agent, env, steps, config)
        ppo.update(agent, optimizer, batch, config)
        lengths.append(length)

    rate = timed(iteration, iterations, device) * steps * count
    return {"agent": "ppo", "env": "CartPole", "envs": count, "per_second": rate, "episode": lengths[-1]}


# -- SAC


class Memory:
    """Transitions on the device, a block of environments at a time."""

    def __init__(self, blocks: int, count: int, spaces: Spaces, device: str) -> None:
        self.blocks, self.count, self.filled = blocks, count, 0
        sizes = (len(spaces.low), 1, spaces.inputs[0], 1)
        self.parts = [torch.zeros(blocks * count, n, device=device) for n in (spaces.inputs[0], *sizes)]

    def add(self, *values: Tensor) -> None:
        start = self.filled % self.blocks * self.count
        for part, value in zip(self.parts, values, strict=True):
            part[start : start + self.count] = value.view(self.count, -1)
        self.filled += 1

    def sample(self, size: int) -> Transitions:
        known = min(self.filled, self.blocks) * self.count
        rows = torch.randint(known, (size,), device=self.parts[0].device)
        seen, action, reward, following, over = (part[rows] for part in self.parts)
        return Transitions(seen, action, reward.squeeze(-1), following, over.squeeze(-1))


def run_sac(count: int, device: str, iterations: int, compiled: bool) -> dict[str, Any]:
    config = sac.Config(batch=max(256, count), hidden=(256, 256), learning_rate=1e-3)
    env = Pendulum(count, device)
    agent: SoftActorCritic = sac.build(env.spaces, config).to(device)
    target_critic = copy.deepcopy(agent.critic)
    if compiled:
        agent.actor.compile()
        agent.critic.compile()
        target_critic.compile()
    learners, entropy = sac.optimizers(agent, config.learning_rate), sac.entropy_target(env.spaces, config)
    memory = Memory(max(8, 1_000_000 // count), count, env.spaces, device)
    rewards: list[Tensor] = []

    def iteration() -> None:
        seen = env.state
        with torch.no_grad():
            action = agent.sample(seen)
        following, reward, over, _ = env.step(action)
        memory.add(seen, action, reward, following, over)
        sac.update(agent, target_critic, learners, memory.sample(config.batch), config, entropy)
        rewards.append(reward.mean())

    rate = timed(iteration, iterations * 20, device) * count
    return {"agent": "sac", "env": "Pendulum", "envs": count, "per_second": rate, "reward": float(rewards[-1])}


# -- measuring


def timed(iteration: Callable[[], None], iterations: int, device: str) -> float:
    """Iterations per second of wall time, after one that warms up."""
    iteration()
    _wait(device)
    began = time.perf_counter()
    for _ in range(iterations):
        iteration()
    _wait(device)
    return iterations / (time.perf_counter() - began)


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="(%(default)s)")
    parser.add_argument("--envs", type=int, nargs="+", default=[1024, 4096, 16384], help="how many environments")
    parser.add_argument("--iterations", type=int, default=30, help="rollouts of PPO; SAC does 20 times as many steps")
    parser.add_argument("--compile", action="store_true", help="torch.compile the networks")
    parser.add_argument("--only", choices=("ppo", "sac"), help="one agent")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers here")
    options = parser.parse_args()
    torch.manual_seed(1)
    name = torch.cuda.get_device_name() if options.device.startswith("cuda") else "CPU"
    print(f"torch {torch.__version__}, {name}{', compiled' if options.compile else ''}")
    rows = []
    for agent, run in (("ppo", run_ppo), ("sac", run_sac)):
        for count in options.envs:
            if options.only in (None, agent):
                row = run(count, options.device, options.iterations, options.compile)
                learned = f"episode {row['episode']:.0f}" if agent == "ppo" else f"reward {row['reward']:.2f}"
                print(
                    f"{agent} on {row['env']:9} {count:6} environments: {row['per_second']:12,.0f} steps/s; {learned}"
                )
                rows.append({**row, "device": name, "compiled": options.compile, "torch": torch.__version__})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
