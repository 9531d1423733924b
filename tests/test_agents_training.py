"""Whole trainings, short: learning, seeds, files, bad input, the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from agents_world import Corridor
from whygrad.agents import a2c, command, dqn, ppo, reinforce, sac
from whygrad.agents.policy import Policy

SMALL: dict[ModuleType, dict[str, Any]] = {
    dqn: {"learning_starts": 100, "hidden": (16,), "steps": 300},
    reinforce: {"hidden": (16,), "steps": 200},
    a2c: {"hidden": (16,), "steps": 256},
    ppo: {"hidden": (16,), "rollout": 128, "epochs": 2, "steps": 256},
    sac: {"learning_starts": 100, "hidden": (16,), "batch": 32, "steps": 200},
}
AGENTS = pytest.mark.parametrize("agent", SMALL, ids=lambda module: module.__name__.rpartition(".")[2])


@AGENTS
def test_a_seed_gives_the_same_bits(agent: ModuleType) -> None:
    runs = [agent.train(Corridor, seed=seed, **SMALL[agent]) for seed in (3, 3, 4)]
    weights = [torch.cat([p.detach().flatten() for p in run.policy.network.parameters()]) for run in runs]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert runs[0].returns == runs[1].returns
    assert runs[0].curves == runs[1].curves
    assert runs[0].curves
    assert all(np.isfinite(value) for curve in runs[0].curves.values() for _, value in curve)


@AGENTS
@pytest.mark.parametrize("shape", [(5,), (5, 1), (1, 3, 3), (4, 4, 3)])
def test_a_policy_in_a_file_is_the_same_policy(agent: ModuleType, shape: tuple[int, ...], tmp_path: Path) -> None:
    def make() -> Corridor:
        return Corridor(shape, pixels=len(shape) == 3)

    policy = agent.train(make, **SMALL[agent]).policy
    policy.save(tmp_path / "policy.pt")
    loaded = Policy.load(tmp_path / "policy.pt")
    shown, _ = make().reset(seed=5)
    assert loaded.act(shown) == policy.act(shown) in (3, 4)
    assert loaded.sample(shown) in (3, 4)
    assert loaded.value(shown) == policy.value(shown)
    assert loaded.config == policy.config
    assert loaded.spaces == policy.spaces


@pytest.mark.parametrize("agent", [reinforce, a2c, ppo, sac])
def test_continuous_actions(agent: ModuleType) -> None:
    policy = agent.train(lambda: Corridor(continuous=True), **SMALL[agent]).policy
    env = Corridor(continuous=True)
    shown, _ = env.reset()
    assert env.action_space.contains(policy.act(shown))
    assert env.action_space.contains(policy.sample(shown))
    assert np.array_equal(policy.act(shown), policy.act(shown))
    assert isinstance(policy.value(shown), float)


def walks_right(policy: Policy) -> bool:
    """It takes the shortest way from everywhere."""
    return all(policy.act(np.eye(5, dtype=np.float32)[place]) == 4 for place in range(4))


@pytest.mark.parametrize(
    ("agent", "settings"),
    [
        (dqn, {"steps": 2500, "learning_starts": 200, "target_every": 50, "double": True, "dueling": True}),
        (dqn, {"steps": 2500, "learning_starts": 200, "target_every": 1, "tau": 0.02}),
        (reinforce, {"steps": 3000, "learning_rate": 1e-2}),
        (a2c, {"steps": 6000, "learning_rate": 3e-3}),
        (ppo, {"steps": 4096, "rollout": 256, "learning_rate": 3e-3, "epochs": 5}),
        (sac, {"steps": 1500, "learning_starts": 200, "temperature": 0.05, "learn_temperature": False}),
    ],
)
def test_short_learning(agent: ModuleType, settings: dict[str, Any]) -> None:
    """The corridor is solved; a step before its end is worth the reward, one more step away a discount less."""
    policy = agent.train(Corridor, gamma=0.9, **{"hidden": (32,), **settings}).policy
    assert walks_right(policy)
    near, far = policy.value(np.eye(5)[3]), policy.value(np.eye(5)[1])
    assert near == pytest.approx(1.0, abs=0.25)
    assert far == pytest.approx(0.81, abs=0.25)
    assert far < near


def test_progress_is_told_and_can_stop() -> None:
    told: list[tuple[int, int]] = []

    def progress(step: int, steps: int, recent: float) -> bool:
        told.append((step, steps))
        return step >= 512

    result = ppo.train(Corridor, progress=progress, **{**SMALL[ppo], "steps": 10_000})
    assert told[0] == (0, 10_000)
    assert told[-1][0] == 512
    assert result.returns[-1][0] <= 512


# -- bad input


@AGENTS
def test_unknown_environment(agent: ModuleType) -> None:
    with pytest.raises(ValueError, match="'NoSuch-v0' cannot be made"):
        agent.train("NoSuch-v0")


class Strange(Corridor):
    def __init__(self, observation: Any = None, action: Any = None) -> None:
        super().__init__()
        self.observation_space = observation or self.observation_space
        self.action_space = action or self.action_space


@pytest.mark.parametrize(
    ("train", "words"),
    [
        (lambda: dqn.train(lambda: Corridor(continuous=True)), "dqn takes discrete actions only"),
        (lambda: ppo.train(lambda: Strange(gymnasium.spaces.Discrete(3))), "agents observe a Box"),
        (lambda: a2c.train(lambda: Strange(action=gymnasium.spaces.MultiBinary(2))), "agents act in a Discrete"),
        (lambda: sac.train(lambda: Strange(action=gymnasium.spaces.Box(-np.inf, np.inf, (1,)))), "sac needs bounds"),
        (lambda: ppo.train(dict), "the factory returned a dict"),  # type: ignore[arg-type]
        (lambda: ppo.train(3), "an environment is an id or something that makes one, not a int"),  # type: ignore[arg-type]
        (lambda: ppo.train(Corridor, lr=1), "there is no setting 'lr'; there are steps"),
        (lambda: dqn.train(Corridor, batch=0), "batch must be at least 1"),
        (lambda: sac.train(Corridor, temperature=0.0), "temperature must be above 0"),
        (lambda: ppo.train(Corridor, hidden=(8, 0)), "hidden layers must have at least 1 unit, and are 8 0"),
        (lambda: a2c.train("absent_module:its/Env-v0"), "'absent_module:its/Env-v0' cannot be made: No module named"),
        (lambda: ppo.train(Corridor, clip=-1.0), "clip must not be negative"),
        (lambda: ppo.train(Corridor, activation="sine"), "activation must be one of tanh, relu"),
        (lambda: ppo.train(Corridor, device="nonsense"), "the device 'nonsense' is not available"),
    ],
)
def test_bad_input_is_one_sentence(train: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        train()
    assert "\n" not in str(caught.value)


def test_files_that_are_no_policies(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        Policy.load(tmp_path / "nothing.pt")
    (tmp_path / "text.pt").write_text("hello")
    torch.save({"some": 1}, tmp_path / "other.pt")
    for name in ("text.pt", "other.pt"):
        with pytest.raises(ValueError, match="is not a policy"):
            Policy.load(tmp_path / name)


# -- the command line


def test_the_command_line_trains_and_saves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "policy.pt")
    small = ["--steps", "256", "--rollout", "128", "--epochs", "1", "--hidden", "8", "--save", file, "--no-anneal"]
    command.main("ppo", ppo.Config, ppo.train, ["--env-id", "CartPole-v1", "--seed", "2", *small])
    out, err = capsys.readouterr()
    assert out.startswith("ppo on CartPole-v1: ")
    assert "256 steps" in err
    policy = Policy.load(file)
    assert policy.config.hidden == (8,)
    assert policy.act(np.zeros(4)) in (0, 1)


def test_a_module_can_be_run_and_complains_in_one_line() -> None:
    arguments = [sys.executable, "-m", "whygrad.agents.dqn", "--env-id", "Nothing-v0"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert "'Nothing-v0' cannot be made" in done.stderr


def test_every_setting_is_an_option() -> None:
    for agent in SMALL:
        text = command.parser("x", agent.Config).format_help()
        for name in agent.Config.__dataclass_fields__:
            assert "--" + name.replace("_", "-") in text


def test_importing_agents_needs_no_gymnasium() -> None:
    code = "import sys; sys.modules['gymnasium'] = None\nfrom whygrad.agents import dqn, reinforce, a2c, ppo, sac\n"
    code += "try:\n    ppo.train('CartPole-v1')\nexcept ValueError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "gymnasium is not installed; install it with: pip install 'whygrad[agents]'\n"
