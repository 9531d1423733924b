"""Tianshou under the probes: correct agents pass all that apply to them, and a wrong one does not.

This needs its own environment: `make test-tianshou`.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch

from whygrad.probe import probe
from whygrad.probe.adapters.tianshou import Adapted
from whygrad.probe.adapters.tianshou_algorithms import RECIPES

CHOICE = {"WG904", "WG905"}
VALUE = {"WG901", "WG902", "WG903", "WG906", "WG907"}
LONGEST = 120.0


@pytest.fixture(autouse=True)
def one_core() -> None:
    torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("algorithm", "actions", "codes"),
    [
        ("DQN", "discrete", CHOICE | VALUE),
        ("PPO", "discrete", CHOICE | VALUE | {"WG908"}),
        ("A2C", "discrete", CHOICE | VALUE | {"WG908"}),
        ("Reinforce", "discrete", CHOICE | {"WG908"}),
        ("SAC", "continuous", CHOICE | VALUE | {"WG908"}),
        ("DiscreteSAC", "discrete", CHOICE | VALUE),
        ("DDPG", "continuous", CHOICE | VALUE | {"WG908"}),
        ("TD3", "continuous", CHOICE | VALUE | {"WG908"}),
    ],
)
def test_every_probe_that_applies_is_passed(algorithm: str, actions: str, codes: set[str]) -> None:
    began = time.process_time()
    report = probe(f"tianshou:{algorithm}")
    assert report, str(report)
    assert report.actions == actions
    assert {verdict.code for verdict in report.of("pass")} == codes
    assert time.process_time() - began < LONGEST


@pytest.mark.parametrize("algorithm", ["PPO", "A2C"])
def test_continuous_actions_throughout(algorithm: str) -> None:
    report = probe(f"tianshou:{algorithm}", only=["WG904", "WG905"], continuous=True, watch=False)
    assert report, str(report)


def test_an_algorithm_of_ones_own() -> None:
    """Made with one gamma and asked about another."""

    def make_agent(env: Any, gamma: float) -> Adapted:
        recipe = RECIPES["DQN"]
        return Adapted(recipe.make("DQN", env, {**recipe.settings, "gamma": 0.95}), env, gamma, recipe.training)

    assert probe(make_agent, only=["WG902", "WG903"], watch=False).failed == ["WG903"]


def test_a_wrong_algorithm_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time limits as ends: what Tianshou's mask would be with `terminated or truncated`."""
    from tianshou.algorithm.algorithm_base import Algorithm

    monkeypatch.setattr(Algorithm, "value_mask", staticmethod(lambda buffer, indices: ~buffer.done[indices]))
    for name in ("DQN", "PPO"):
        assert probe(f"tianshou:{name}", only=["WG906", "WG907"], watch=False).failed == ["WG907"]


def test_what_cannot_be_probed_is_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"tianshou:PPP is not among the algorithms .*: A2C, DDPG, DQN"):
        probe("tianshou:PPP")
    with pytest.raises(ValueError, match="built for vectors here"):
        probe("tianshou:PPO", image=True)
    with pytest.raises(ValueError, match="takes discrete actions only"):
        probe("tianshou:DQN", continuous=True)


def test_all_that_are_set_up_are_tested() -> None:
    [mark] = test_every_probe_that_applies_is_passed.pytestmark  # type: ignore[attr-defined]
    assert {row[0] for row in mark.args[1]} == set(RECIPES)
