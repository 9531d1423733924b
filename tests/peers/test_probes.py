"""Stable-Baselines3 and sb3-contrib under the probes: correct agents pass all that apply to them.

These need their own environment: `make test-peers`.
"""

from __future__ import annotations

import time

import pytest
import torch

from whygrad.probe import probe

CHOICE = {"WG901", "WG902", "WG903", "WG904", "WG905", "WG906", "WG907"}
LONGEST = 60.0


@pytest.fixture(autouse=True)
def one_core() -> None:
    torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("algorithm", "actions", "codes"),
    [
        ("DQN", "discrete", CHOICE),
        ("PPO", "discrete", CHOICE | {"WG908"}),
        ("A2C", "discrete", CHOICE | {"WG908"}),
        ("SAC", "continuous", CHOICE | {"WG908"}),
        ("TD3", "continuous", CHOICE | {"WG908"}),
    ],
)
def test_every_probe_that_applies_is_passed(algorithm: str, actions: str, codes: set[str]) -> None:
    began = time.process_time()
    report = probe(f"sb3:{algorithm}")
    assert report, str(report)
    assert report.actions == actions
    assert {verdict.code for verdict in report.of("pass")} == codes
    assert time.process_time() - began < LONGEST


def test_ppo_with_continuous_actions() -> None:
    report = probe("sb3:PPO", only=["WG904", "WG905"], continuous=True, watch=False)
    assert report, str(report)


def test_ppo_on_pictures() -> None:
    report = probe("sb3:PPO", only=["WG902", "ActionReward"], image=True, steps=600, watch=False)
    assert report, str(report)


def test_a_recurrent_agent_remembers_and_another_does_not() -> None:
    report = probe("sb3:RecurrentPPO", only=["Memory"], steps=2500, watch=False)
    assert report, str(report)
    assert probe("sb3:PPO", only=["Memory"], watch=False).failed == ["WG905"]


def test_a_wrong_setting_is_noticed() -> None:
    """The same model, told one gamma and asked about another."""
    from stable_baselines3 import DQN

    from whygrad.probe.adapters.sb3 import SETTINGS, Adapted

    def make_agent(env, gamma, seed):  # type: ignore[no-untyped-def]
        return Adapted(DQN("MlpPolicy", env, gamma=0.95, seed=seed, **SETTINGS["DQN"]), gamma)

    assert probe(make_agent, only=["WG902", "WG903"], watch=False).failed == ["WG903"]


def test_unknown_algorithms_are_a_sentence() -> None:
    with pytest.raises(ValueError, match="has an algorithm 'PPP'"):
        probe("sb3:PPP")
