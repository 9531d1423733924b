"""Environment steps per second of the agents and of Stable-Baselines3, in turns, with the same settings.

    .venv-peers/bin/python benchmarks/agents_speed.py --rounds 5 --json speed.json

Both sides run in this process on one thread, a fresh training per round: the same environment, network, batch and
number of updates per step. Time is processor time, so that a busy machine disturbs little; the ratio is the median over
rounds of the two neighbours' ratio, after one round that only warms up. What differs: what they log, how they draw
random numbers, the vector environment with a monitor around theirs, and the schedule of DQN's epsilon.
"""

# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Duel:
    """One agent, its rival, and the settings in the words of both."""

    agent: str
    rival: str
    env: str
    steps: int
    ours: dict[str, Any]
    theirs: dict[str, Any]
    envs: int = 1


def duels() -> list[Duel]:
    relu: dict[str, Any] = {"net_arch": [64, 64], "activation_fn": torch.nn.ReLU}
    tanh: dict[str, Any] = {"net_arch": [64, 64], "activation_fn": torch.nn.Tanh}
    wide: dict[str, Any] = {"net_arch": [256, 256], "activation_fn": torch.nn.ReLU}
    replayed = {"learning_starts": 500, "buffer_size": 100_000, "learning_rate": 1e-3, "gradient_steps": 1}
    started = {"learning_starts": 500, "capacity": 100_000, "learning_rate": 1e-3}
    return [
        Duel(
            *("dqn", "DQN", "CartPole-v1", 5_000),
            {**started, "train_every": 4, "batch": 128, "target_every": 250, "hidden": (64, 64)},
            {**replayed, "train_freq": 4, "batch_size": 128, "target_update_interval": 250, "policy_kwargs": relu},
        ),
        Duel(
            *("ppo", "PPO", "CartPole-v1", 8_192),
            {"envs": 1, "rollout": 1024, "epochs": 10, "minibatch": 64, "learning_rate": 1e-3, "hidden": (64, 64)},
            {"n_steps": 1024, "n_epochs": 10, "batch_size": 64, "learning_rate": 1e-3, "policy_kwargs": tanh},
        ),
        Duel(
            *("a2c", "A2C", "CartPole-v1", 20_480),
            {"envs": 8, "rollout": 8, "learning_rate": 2e-3, "trace": 0.95, "hidden": (64, 64)},
            {
                "n_steps": 8,
                "learning_rate": 2e-3,
                "gae_lambda": 0.95,
                "use_rms_prop": False,
                "policy_kwargs": tanh,
            },
            envs=8,
        ),
        Duel(
            *("sac", "SAC", "Pendulum-v1", 1_500),
            {**started, "train_every": 1, "batch": 128, "hidden": (64, 64)},
            {**replayed, "train_freq": 1, "batch_size": 128, "policy_kwargs": relu},
        ),
        Duel(
            *("sac", "SAC", "Pendulum-v1", 1_000),
            {**started, "train_every": 1, "batch": 256, "hidden": (256, 256)},
            {**replayed, "train_freq": 1, "batch_size": 256, "policy_kwargs": wide},
        ),
    ]


def timed(training: Callable[[], object]) -> float:
    began = time.process_time()
    training()
    return time.process_time() - began


def ours(duel: Duel, seed: int) -> float:
    module = importlib.import_module(f"whygrad.agents.{duel.agent}")
    return timed(lambda: module.train(duel.env, steps=duel.steps, seed=seed, **duel.ours))


def theirs(duel: Duel, seed: int) -> float:
    import stable_baselines3
    from stable_baselines3.common.env_util import make_vec_env

    env = make_vec_env(duel.env, duel.envs, seed=seed)
    model = getattr(stable_baselines3, duel.rival)("MlpPolicy", env, seed=seed, device="cpu", **duel.theirs)
    return timed(lambda: model.learn(duel.steps))


def measure(duel: Duel, rounds: int) -> dict[str, Any]:
    pairs = [(ours(duel, seed), theirs(duel, seed)) for seed in range(rounds + 1)][1:]
    ratios = sorted(their / our for our, their in pairs)
    return {
        "agent": duel.agent,
        "env": duel.env,
        "steps": duel.steps,
        "settings": {name: value for name, value in duel.ours.items() if name != "capacity"},
        "ours": duel.steps / statistics.median(our for our, _ in pairs),
        "theirs": duel.steps / statistics.median(their for _, their in pairs),
        "ratio": statistics.median(ratios),
        "lowest": ratios[0],
        "highest": ratios[-1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="trainings of each side (%(default)s)")
    parser.add_argument("--only", help="one agent")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers here")
    options = parser.parse_args()
    try:
        import stable_baselines3
    except ImportError:
        parser.exit(2, "stable-baselines3 is not installed; `make test-peers` makes an environment that has it\n")
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, stable-baselines3 {stable_baselines3.__version__}, one thread")
    print(f"{'agent':6}{'environment':14}{'ours/s':>9}{'SB3/s':>9}{'ratio':>8}  lowest to highest")
    rows = []
    for duel in duels():
        if options.only in (None, duel.agent):
            print(f"{duel.agent} …", end="\r", file=sys.stderr)
            row = measure(duel, options.rounds)
            rows.append(row)
            spread = f"{row['lowest']:.2f} to {row['highest']:.2f}, hidden {row['settings']['hidden']}"
            numbers = f"{row['ours']:9.0f}{row['theirs']:9.0f}{row['ratio']:8.2f}"
            print(f"{row['agent']:6}{row['env']:14}{numbers}  {spread}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
