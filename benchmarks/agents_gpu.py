"""Steps per second of PPO and SAC where thousands of environments live on the device themselves.

    python benchmarks/agents_gpu.py --json gpu.json

CartPole and Pendulum are written here as a few tensor operations, so that nothing leaves the device; networks, losses
and updates are those of `whygrad.agents`. Each agent is measured in three ways: plain, with collecting and updating
replayed as CUDA graphs (`graph`), and with its networks under `torch.compile` (`compile`); each in a process of its
own, so that one that fails or hangs takes nothing with it. Needs torch and numpy, no gymnasium. Warming up is not
counted. It ends within five minutes (`--seconds`) and says what is known after each process.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from whygrad.agents import ppo, sac
from whygrad.agents.advantages import gae
from whygrad.agents.fast.adam import Adam
from whygrad.agents.fast.graphs import graphed
from whygrad.agents.fast.replay import Transitions
from whygrad.agents.soft_actor_critic import SoftActorCritic
from whygrad.agents.spaces import Spaces

Stepped = tuple[Tensor, Tensor, Tensor, Tensor]
"""True next observation, reward, terminated, ended."""
WAYS = ("plain", "graph", "compile")
WARMING = 6
"""Iterations that are not counted: a graph is captured in the fourth."""
LONGEST = 75
"""Seconds for one agent in one way."""


class CartPole:
    """A pole on a cart, many times: the equations of the classic, episodes of at most 500 steps.

    The state stays in the same memory, so that a step can be captured.
    """

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
        self.time += 1
        over = (state[:, 0].abs() > 2.4) | (state[:, 2].abs() > 12 * math.pi / 180)
        ended = over | (self.time >= 500)
        self.state.copy_(torch.where(ended[:, None], torch.empty_like(state).uniform_(-0.05, 0.05), state))
        self.time.mul_(~ended)
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
        self.turn.add_(0.05 * (15 * self.angle.sin() + 3 * torque)).clamp_(-8, 8)
        self.angle.add_(0.05 * self.turn)
        following = self.state
        self.time += 1
        ended = self.time >= 200
        self.angle.copy_(torch.where(ended, torch.empty_like(self.angle).uniform_(-math.pi, math.pi), self.angle))
        self.turn.copy_(torch.where(ended, torch.empty_like(self.turn).uniform_(-1, 1), self.turn))
        self.time.mul_(~ended)
        return following, reward, torch.zeros_like(reward), ended.float()


# -- PPO


@torch.no_grad()
def rollout(agent: Any, env: CartPole, steps: int, config: ppo.Config) -> tuple[ppo.Batch, Tensor]:
    """A batch that never left the device, and how many of its steps ended an episode."""
    columns: list[list[Tensor]] = [[] for _ in range(6)]
    for _ in range(steps):
        seen = env.state.clone()
        action = agent.sample(seen)
        for column, value in zip(columns, (seen, action, *env.step(action)), strict=True):
            column.append(value)
    seen, action, following, reward, over, ended = (torch.stack(column) for column in columns)
    values = agent.value(seen.flatten(0, 1)).view_as(reward)
    next_values = agent.value(following.flatten(0, 1)).view_as(reward)
    advantages = gae(reward, values, next_values, over, ended, config.gamma, config.trace)
    flat = seen.flatten(0, 1), action.flatten(0, 1)
    log_probs, _ = agent.evaluate(*flat)
    return ppo.Batch(*flat, log_probs, advantages.flatten(), (advantages + values).flatten()), ended.sum()


def run_ppo(count: int, device: str, iterations: int, way: str) -> dict[str, Any]:
    steps = 32
    config = ppo.Config(minibatch=max(64, count * steps // 4), epochs=4, learning_rate=1e-3)
    env = CartPole(count, device)
    agent = ppo.build(env.spaces, config).to(device)
    if way == "compile":
        agent.evaluate, agent.value = torch.compile(agent.evaluate), torch.compile(agent.value)  # type: ignore[method-assign]
    optimizer = Adam(agent.parameters(), config.learning_rate, eps=1e-5)
    learn = graphed(ppo.learning(agent, optimizer, config), device, way == "graph")
    collect = graphed(lambda _: rollout(agent, env, steps, config), device, way == "graph")
    ends = torch.zeros((), device=device)

    def iteration() -> None:
        batch, ended = collect(())
        ppo.update(learn, batch, config)
        ends.copy_(ended)

    rate = timed(iteration, iterations, device) * steps * count
    return {"env": "CartPole", "per_second": rate, "learned": f"episode {steps * count / max(1.0, float(ends)):.0f}"}


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


def run_sac(count: int, device: str, iterations: int, way: str) -> dict[str, Any]:
    config = sac.Config(batch=max(256, count), hidden=(256, 256), learning_rate=1e-3)
    env = Pendulum(count, device)
    agent: SoftActorCritic = sac.build(env.spaces, config).to(device)
    target_critic = copy.deepcopy(agent.critic)
    if way == "compile":
        agent.actor.compile()
        agent.critic.compile()
        target_critic.compile()
    learners, entropy = sac.optimizers(agent, config.learning_rate), sac.entropy_target(env.spaces, config)

    def learned(batch: Transitions) -> dict[str, Tensor]:
        return sac.update(agent, target_critic, learners, batch, config, entropy)

    learn = graphed(learned, device, way == "graph")

    @torch.no_grad()
    def moved(_: tuple[()]) -> tuple[Tensor, ...]:
        seen = env.state
        action = agent.sample(seen)
        following, reward, over, _ended = env.step(action)
        return seen, action, reward, following, over

    move = graphed(moved, device, way == "graph")
    memory = Memory(max(8, 1_000_000 // count), count, env.spaces, device)
    earned = torch.zeros((), device=device)

    def iteration() -> None:
        step = move(())
        memory.add(*step)
        learn(memory.sample(config.batch))
        earned.copy_(step[2].mean())

    rate = timed(iteration, iterations * 20, device) * count
    return {"env": "Pendulum", "per_second": rate, "learned": f"reward {float(earned):.2f}"}


RUNS = {"ppo": run_ppo, "sac": run_sac}

# -- measuring


def timed(iteration: Callable[[], None], iterations: int, device: str) -> float:
    """Iterations per second of wall time, after some that warm up."""
    for _ in range(WARMING):
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


def child(options: argparse.Namespace) -> None:
    """One agent in one way: a line of JSON for every number of environments."""
    agent, way = options.child
    name = torch.cuda.get_device_name() if options.device.startswith("cuda") else "CPU"
    for count in options.envs:
        torch.manual_seed(1)
        row = {"agent": agent, "way": way, "envs": count, "device": name, "torch": torch.__version__}
        print(json.dumps(row | RUNS[agent](count, options.device, options.iterations, way)), flush=True)


def measured(agent: str, way: str, options: argparse.Namespace, left: float) -> list[dict[str, Any]]:
    """What a process of its own says, line by line; what it could not say is left out, with its last words."""
    given = [*map(str, options.envs)] if way != "compile" else [str(options.envs[len(options.envs) // 2])]
    command = [sys.executable, __file__, "--child", agent, way, "--device", options.device, "--envs", *given]
    command += ["--iterations", str(options.iterations)]
    longest = min(LONGEST, left)
    if longest < 10:
        print(f"{agent} {way}: no time left", flush=True)
        return []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=longest, check=False)
        out, err = done.stdout, done.stderr
        failed = done.returncode != 0
    except subprocess.TimeoutExpired as late:
        out, err, failed = _text(late.stdout), f"stopped after {longest:.0f} s", True
    rows = [json.loads(line) for line in out.splitlines() if line.startswith("{") and line.endswith("}")]
    for row in rows:
        numbers = f"{row['envs']:6} environments: {row['per_second']:12,.0f} steps/s; {row['learned']}"
        print(f"{agent} {row['env']:9}{way:8}{numbers}", flush=True)
    if failed:
        last = [line.strip() for line in err.splitlines() if line.strip()][-3:]
        print(f"{agent} {way}: failed after {len(rows)} of {len(given)}: {' | '.join(last)}", flush=True)
    elif "no CUDA graph" in err:
        print(f"{agent} {way}: {next(line for line in err.splitlines() if 'no CUDA graph' in line)}", flush=True)
    return rows


def _text(said: bytes | str | None) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else said or ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="(%(default)s)")
    parser.add_argument("--envs", type=int, nargs="+", default=[1024, 4096, 16384], help="how many environments")
    parser.add_argument("--iterations", type=int, default=30, help="rollouts of PPO; SAC does 20 times as many steps")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="(all); compile: the middle number")
    parser.add_argument("--seconds", type=float, default=285, help="for everything (%(default)s)")
    parser.add_argument("--only", choices=tuple(RUNS), help="one agent")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers here, after every process")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        parser.exit(2, f"there is no GPU that torch {torch.__version__} can use; try --device cpu\n")
    print(f"torch {torch.__version__} on {options.device}", flush=True)
    rows: list[dict[str, Any]] = []
    until = time.monotonic() + options.seconds
    for way in options.ways:
        for agent in RUNS:
            if options.only in (None, agent):
                rows += measured(agent, way, options, until - time.monotonic())
                if options.json:
                    with open(options.json, "w", encoding="utf-8") as file:
                        json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
