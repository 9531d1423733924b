"""Success is no collapse: what the signal rules say depends on what the run earns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from test_rule_examples import reported
from whygrad.finding import Finding
from whygrad.trace.earnings import Earned, Earnings, improved

BANDIT = """
    import torch
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = torch.nn.Linear(4, 3)
    optimizer = torch.optim.Adam(policy.parameters(), lr={rate})
    for _ in range(400):
        dist = Categorical(logits=policy(torch.ones(32, 4)))
        action = dist.sample()
        {rewards}
        loss = -(dist.log_prob(action) * {weight}).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
DRIVEN = """
    import torch
    from torch.distributions import Normal

    torch.manual_seed(0)
    policy, log_std = torch.nn.Linear(2, 2), torch.nn.Parameter(torch.full((1,), {log_std}))
    optimizer = torch.optim.Adam([*policy.parameters(), log_std], lr={rate})
    for _ in range({rounds}):
        obs = torch.rand(64, 2)
        with torch.no_grad():
            dist = Normal(policy(obs), log_std.exp())
            action = dist.sample()
            old = dist.log_prob(action).sum(-1)
        reward = torch.tensor(({reward}).tolist())
        for _ in range(4):
            new = Normal(policy(obs), log_std.exp()).log_prob(action).sum(-1)
            ratio = torch.exp(new - old)
            advantage = reward - reward.mean()
            loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


Said = Callable[[str], list[Finding]]


@pytest.fixture
def said(tmp_path: Path) -> Said:
    return lambda script: reported(dedent(script), tmp_path, "earning")


def loud(found: list[Finding]) -> list[str]:
    return [f"{f.code} {f.severity}" for f in found if f.loud]


def test_a_policy_that_is_decided_and_earns_more_is_left_alone(said: Said) -> None:
    assert (
        loud(
            said(
                BANDIT.format(
                    rewards="reward = torch.tensor((action == 1).float().tolist())", weight="reward", rate=0.3
                )
            )
        )
        == []
    )


def test_one_that_is_decided_and_earns_no_more_is_warned_of(said: Said) -> None:
    without_baseline = "reward = torch.tensor((100.0 - action).tolist())"
    assert loud(said(BANDIT.format(rewards=without_baseline, weight="reward", rate=3.0))) == ["WG801 warning"]


def test_where_weights_were_centred_before_nobody_knows(said: Said) -> None:
    rewards = "reward = (action == 1).float().numpy(); reward = torch.tensor((reward - reward.mean()).tolist())"
    notes = [f for f in said(BANDIT.format(rewards=rewards, weight="reward", rate=0.3)) if f.code == "WG801"]
    assert [(f.severity, "does not show" in f.seen) for f in notes] == [("note", True)]


def test_a_policy_that_has_learned_may_move_far(said: Said) -> None:
    assert loud(said(DRIVEN.format(rounds=600, log_std=-1.0, rate=0.02, reward="-(action - obs).norm(dim=-1)"))) == []


def test_one_that_jumps_and_learns_nothing_is_warned_of(said: Said) -> None:
    assert loud(said(DRIVEN.format(rounds=150, log_std=-1.0, rate=0.5, reward="torch.randn(64)"))) == ["WG802 warning"]


def test_only_the_same_line_is_compared() -> None:
    before: Earnings = {"r": [Earned(1.0, 1.0)], "old": [Earned(0.0, 1.0)]}
    after: Earnings = {"new": [Earned(9.0, 1.0)]}
    assert improved(before, after, 0.5) is None
    assert improved(before, after | {"r": [Earned(1.4, 1.0)]}, 0.5) is False
    assert improved(before, after | {"r": [Earned(1.6, 1.0)]}, 0.5) is True


def test_what_is_centred_tells_nothing() -> None:
    assert improved({"r": [Earned(0.01, 1.0)]}, {"r": [Earned(-0.02, 0.001)]}, 0.5) is None
