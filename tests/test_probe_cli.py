"""`whygrad probe` on the command line: agents, scripts, forms of output and statuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_running import Ended, whygrad, write
from whygrad.cli.main import main

KNOWING = """\
    class Agent:
        def __init__(self, env, factor):
            self.env, self.factor = env.unwrapped, factor

        def train(self, steps):
            print("training", steps)

        def act(self, observation):
            return int(observation[0] > 0)

        def value(self, observation):
            return 2.0 * self.factor

    def make_agent(env):
        return Agent(env, 1)

    def make_wrong(env):
        return Agent(env, 0)

    def make_nothing(env):
        pass

    def make_class(env):
        return Agent
    """
BANDIT = """\
    import argparse
    import gymnasium as gym
    import numpy as np

    parser = argparse.ArgumentParser()
    parser.add_argument("--env-id")
    parser.add_argument("--sign", type=float, default=1.0)
    args = parser.parse_args()
    envs = gym.vector.SyncVectorEnv([lambda: gym.make(args.env_id)] * 4)
    rng, learned = np.random.default_rng(0), {}
    obs, _ = envs.reset(seed=1)
    ended = np.zeros(4, bool)
    while True:
        worth = [learned.setdefault(o.tobytes(), np.zeros(2)) for o in obs]
        action = np.array([w.argmax() if rng.random() > 0.1 else rng.integers(2) for w in worth])
        following, reward, terminated, truncated, _ = envs.step(action)
        for w, a, r, over in zip(worth, action, reward, ended):
            if not over:
                w[a] += 0.1 * (args.sign * r - w[a])
        obs, ended = following, terminated | truncated
    """
CRITIC = """\
    import argparse
    import gymnasium as gym
    import torch

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--env", dest="env_id")
        parser.add_argument("--detach", action="store_true")
        args = parser.parse_args()
        env = gym.make(args.env_id)
        torch.manual_seed(0)  # first weights may answer the probe by luck
        agent = torch.nn.Linear(2, 1)
        agent.get_value = agent.forward
        optimizer = torch.optim.Adam(agent.parameters(), lr=0.1)
        actor = torch.nn.Parameter(torch.zeros(()))
        optimizer.add_param_group({"params": [actor]})
        while True:
            obs, _ = env.reset()
            reward = env.step(0)[1]
            value = agent.get_value(torch.as_tensor(obs))
            if args.detach:
                value = value.detach()
            loss = (value - reward).pow(2).mean() + actor.square()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    main()
    """
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path, "mine.py", KNOWING)
    write(tmp_path, "bandit.py", BANDIT)
    write(tmp_path, "critic.py", CRITIC)
    yield tmp_path
    sys.modules.pop("mine", None)


def probed(capsys: Captured, *arguments: str) -> Ended:
    try:
        status = main(["probe", *arguments])
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else -1
    caught = capsys.readouterr()
    return Ended(status, caught.out, caught.err)


def test_a_pass_a_failure_and_a_mistake(folder: Path, capsys: Captured) -> None:
    done = probed(capsys, "mine:make_agent", "--only", "WG901", "--only", "WG904", "--steps", "5")
    assert done.status == 1, done.out
    assert "pass WG901" in done.out
    assert "error[WG904] policy-direction" in done.out
    assert "whygrad explain WG904" in done.out
    assert "training 5" in done.err
    assert "training" not in done.out
    assert (done := probed(capsys, "mine:make_agent", "--only", "WG901", "-q")).status == 0
    assert done.out == ""
    done = probed(capsys, "mine:make_nothing")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "whygrad: make_nothing returned None without train(); an agent has train(steps) and act(observation)\n"
    )


def test_a_process_of_its_own(folder: Path) -> None:
    """With the current folder in the path, as `python -m` has it."""
    done = whygrad(folder, "probe", "mine:make_agent", "--only", "WG901", "--format", "concise")
    assert (done.status, done.out) == (0, "whygrad: 1 probe passed.\n")
    assert "training 1000" in done.err


def test_other_forms(folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    done = probed(capsys, "mine:make_wrong", "--json", "out.json", "--format", "concise")
    assert done.status == 1
    assert done.out == "error[WG901] the value estimate does not find a constant reward: +0.00 instead of +2.00\n"
    stored = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert stored["passed"] is False
    first, second = stored["verdicts"][:2]
    assert (first["code"], first["status"], first["observed"]) == ("WG901", "fail", {"V(only)": 0.0})
    assert first["finding"]["code"] == "WG901"
    assert (second["status"], second["reason"]) == ("skip", "WG901 failed")
    done = probed(capsys, "mine:make_wrong", "--format", "json")
    assert [v["status"] for v in json.loads(done.out)["verdicts"]] == [v["status"] for v in stored["verdicts"]]
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    assert "\x1b[" in probed(capsys, "mine:make_wrong", "--color", "always").out
    assert "\x1b[" not in probed(capsys, "mine:make_wrong").out


def test_the_list(folder: Path, capsys: Captured) -> None:
    done = probed(capsys, "--list")
    assert (done.status, done.err) == (0, "")
    rows = done.out.splitlines()
    assert len(rows) == 10
    assert rows[0].split()[:3] == ["WG901", "value-fit", "whygrad/ConstantReward-v0"]


def test_help_says_the_protocol(folder: Path, capsys: Captured) -> None:
    done = probed(capsys, "--help")
    assert done.status == 0
    for word in ("make_agent(env", "train(steps)", "act(observation)", "--script", "--only", "--image", "exit status"):
        assert word in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "name what to probe"),
        (("mine:make_agent", "--script", "bandit.py"), "name what to probe"),
        (("mine:make_agent", "--", "more"), "--script"),
        (("mine:absent",), "has no 'absent'"),
        (("absent:make",), "there is no module 'absent'"),
        (("mine:make_agent", "--only", "WG101"), "there is no probe 'wg101'"),
        (("mine:make_agent", "--json", "absent/out.json"), "cannot be written"),
        (("mine:make_agent", "--steps", "0"), "whole number"),
        (("--script", "absent.py"), "no such file"),
        (("--script", "mine.py"), "it was given the environment as --env-id (see --env-arg)"),
        (("mine.py:make_agent",), "mine.py is a file; say mine:make_agent from its folder, or --script mine.py"),
        (("mine:make_class", "--steps", "5"), "make_class returned the class Agent, not an agent made of it"),
        (("sb3",), "sb3 needs an algorithm: sb3:PPO"),
        (("tianshou:",), "'tianshou:' names no agent"),
        (("whygrad.agents.dqn", "--continuous"), "takes discrete actions only"),
    ],
)
def test_bad_input_is_one_sentence(folder: Path, capsys: Captured, arguments: tuple[str, ...], says: str) -> None:
    done = probed(capsys, *arguments)
    assert (done.status, done.out) == (2, "")
    assert says in done.err.splitlines()[-1]
    assert "Traceback" not in done.err


# -- scripts


def test_a_script_is_judged_by_what_it_does(folder: Path, capsys: Captured) -> None:
    only = [f"--only={name}" for name in ("WG901", "ActionReward", "WG905")]
    done = probed(capsys, "--script", "bandit.py", "--steps", "2000", *only)
    assert done.status == 0, done.out + done.err
    assert "no value function is visible" in done.out
    assert "pass WG904" in done.out
    assert "pass WG905" in done.out
    assert "ask for it by name: --only Memory" in done.out
    done = probed(capsys, "--script", "bandit.py", "--steps", "1000", "--only", "ActionReward", "--", "--sign", "-1")
    assert done.status == 1, done.out + done.err
    assert "error[WG904] policy-direction: the policy moves away" in done.out


def test_a_script_that_shows_its_values(folder: Path, capsys: Captured) -> None:
    options = ("--script", "critic.py", "--env-arg", "--env", "--steps", "300", "--only", "WG901")
    done = probed(capsys, *options)
    assert done.status == 0, done.out + done.err
    assert "V(only) +2.0" in done.out
    done = probed(capsys, *options, "--", "--detach")
    assert done.status == 1, done.out + done.err
    assert "likely cause, WG103" in done.out
    assert "value = value.detach()" in done.out


def test_a_script_that_does_not_know_the_option(folder: Path, capsys: Captured) -> None:
    done = probed(capsys, "--script", "bandit.py", "--env-arg", "--environment")
    assert (done.status, done.out) == (2, "")
    [row] = done.err.splitlines()
    assert "ended with status 2 before its first step" in row
    assert "unrecognized arguments" in row
