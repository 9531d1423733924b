"""Every agent under whygrad: healthy, and the matrix is the one its paper implies."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import whygrad
from agents_world import Corridor
from whygrad.agents import a2c, dqn, ppo, reinforce, sac
from whygrad.report.model import Report

Reached = dict[tuple[str, str], dict[str, list[str]]]


def watched(agent: ModuleType, *, continuous: bool = False, **settings: Any) -> Report:
    with whygrad.watch() as watching:
        agent.train(lambda: Corridor(continuous=continuous), hidden=(16,), **settings)
    assert [(f.code, f.message) for f in watching.report.loud] == []
    return watching.report


def reached(report: Report) -> Reached:
    """By (loss, term): each module with the optimizers that consume its gradient."""
    return {(r.loss, r.term): {m: c.consumed_by for m, c in r.cells.items()} for r in report.matrix}


def trained(report: Report) -> set[str]:
    return {name for row in report.matrix for name in row.cells}


@pytest.mark.parametrize("double", [False, True])
def test_dqn(double: bool) -> None:
    report = watched(dqn, steps=400, learning_starts=100, target_every=100, double=double)
    assert reached(report) == {("loss", ""): {"q_net": ["optimizer"]}}
    assert report.roles == {"q_net": "online", "target_net": "target"}


def test_dueling_dqn() -> None:
    report = watched(dqn, steps=400, learning_starts=100, target_every=100, dueling=True)
    assert {r.loss for r in report.matrix} == {"loss"}
    assert all(name.startswith("q_net") for name in trained(report))


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize(
    ("agent", "settings"),
    [
        (reinforce, {"steps": 300}),
        (a2c, {"steps": 640}),
        (ppo, {"steps": 512, "rollout": 128, "epochs": 2}),
    ],
)
def test_actor_critics(agent: ModuleType, settings: dict[str, Any], continuous: bool) -> None:
    report = watched(agent, continuous=continuous, entropy_weight=0.01, **settings)
    cells = reached(report)
    critic = next(term for _, term in cells if "value_weight" in term)
    entropy = next(term for _, term in cells if "entropy_weight" in term)
    mine, ours = ["optimizer"], {"agent.actor": ["optimizer"]}
    width = {"agent.log_std": ["optimizer"]} if continuous else {}
    assert cells == {
        ("loss", "policy_loss"): {**ours, **width},
        ("loss", critic): {"agent.critic": mine},
        ("loss", entropy): width if continuous else ours,
    }
    assert report.roles["agent.critic"] == "critic"
    assert report.roles["agent.actor"] == "actor"


@pytest.mark.parametrize("continuous", [False, True])
def test_sac(continuous: bool) -> None:
    report = watched(sac, continuous=continuous, steps=220, learning_starts=100, batch=32)
    cells = reached(report)
    assert {loss for loss, _ in cells} == {"q_loss", "policy_loss", "alpha_loss"}
    for (loss, _), row in cells.items():
        expected = {
            "q_loss": {"agent.critic": ["critic_optimizer"]},
            "policy_loss": {"agent.actor": ["actor_optimizer"]},
            "alpha_loss": {"agent.log_alpha": ["temperature_optimizer"]},
        }
        assert row == expected[loss]
    networks = {"agent.actor": "actor", "agent.critic": "critic", "target_critic": "target"}
    assert report.roles == {**networks, "agent.log_alpha": "temperature"}
