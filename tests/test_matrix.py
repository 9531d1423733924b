"""Who trains whom, cell by cell, against what the algorithms' papers say and against autograd itself."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Normal
from torch.nn import functional as F

import whygrad
from whygrad.report.model import Report

Reached = dict[tuple[str, str], dict[str, str]]


def reached(report: Report) -> Reached:
    """By (loss, term): each module with what became of the gradient."""
    return {
        (row.loss, row.term): {
            module: ", ".join(cell.consumed_by) if cell.consumed_by else "discarded" if cell.discarded_by else "unused"
            for module, cell in row.cells.items()
        }
        for row in report.matrix
    }


def watched(training: Callable[[], None]) -> Report:
    torch.manual_seed(0)
    with whygrad.watch() as watching:
        training()
    assert [f.code for f in watching.report.loud] == []
    return watching.report


def dqn() -> None:
    q_net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    target_net = copy.deepcopy(q_net)
    optimizer = torch.optim.Adam(q_net.parameters())
    for _ in range(6):
        obs, next_obs, reward = torch.randn(8, 3), torch.randn(8, 3), torch.randn(8)
        with torch.no_grad():
            target = reward + 0.99 * target_net(next_obs).max(1).values
        loss = F.smooth_l1_loss(q_net(obs)[:, 0], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        target_net.load_state_dict(q_net.state_dict())


def test_dqn() -> None:
    report = watched(dqn)
    assert reached(report) == {("loss", ""): {"q_net": "optimizer"}}
    assert report.roles == {"q_net": "online", "target_net": "target"}


class ActorCritic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk, self.actor, self.critic = nn.Linear(3, 8), nn.Linear(8, 2), nn.Linear(8, 1)

    def forward(self, obs: Tensor) -> tuple[Categorical, Tensor]:
        hidden = torch.tanh(self.trunk(obs))
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


def ppo() -> None:
    agent = ActorCritic()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
    for _ in range(3):
        obs = torch.randn(16, 3)
        with torch.no_grad():
            dist, value = agent(obs)
            action = dist.sample()
            old_log_prob = dist.log_prob(action)
            advantage = torch.randn(16)
            returns = value + advantage
        for _ in range(2):
            dist, value = agent(obs)
            ratio = (dist.log_prob(action) - old_log_prob).exp()
            pg_loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            v_loss = (value - returns).pow(2).mean()
            entropy = dist.entropy().mean()
            loss = pg_loss - 0.01 * entropy + 0.5 * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def test_ppo() -> None:
    report = watched(ppo)
    assert reached(report) == {
        ("loss", "pg_loss"): {"agent.trunk": "optimizer", "agent.actor": "optimizer"},
        ("loss", "0.01 * entropy"): {"agent.trunk": "optimizer", "agent.actor": "optimizer"},
        ("loss", "0.5 * v_loss"): {"agent.trunk": "optimizer", "agent.critic": "optimizer"},
    }
    assert report.roles == {"agent.trunk": "actor and critic", "agent.actor": "actor", "agent.critic": "critic"}


def squashed(actor: nn.Module, obs: Tensor) -> tuple[Tensor, Tensor]:
    mean, log_std = actor(obs).chunk(2, -1)
    dist = Normal(mean, log_std.clamp(-5, 2).exp())
    raw = dist.rsample()
    action = torch.tanh(raw)
    return action, (dist.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1, keepdim=True)


def follow(online: nn.Module, target: nn.Module) -> None:
    with torch.no_grad():
        for fast, slow in zip(online.parameters(), target.parameters(), strict=True):
            slow.lerp_(fast, 0.05)


def sac() -> None:
    actor, q1, q2 = nn.Linear(3, 2), nn.Linear(4, 1), nn.Linear(4, 1)
    nn.init.zeros_(q1.bias)
    nn.init.zeros_(q2.bias)  # Neither critic is the smaller one everywhere.
    q1_target, q2_target = copy.deepcopy(q1), copy.deepcopy(q2)
    log_alpha = torch.zeros(1, requires_grad=True)
    actor_optimizer = torch.optim.Adam(actor.parameters())
    q_optimizer = torch.optim.Adam([*q1.parameters(), *q2.parameters()])
    alpha_optimizer = torch.optim.Adam([log_alpha])
    for _ in range(6):
        obs, action, reward, next_obs = (torch.randn(16, n) for n in (3, 1, 1, 3))
        with torch.no_grad():
            next_action, next_log_prob = squashed(actor, next_obs)
            joined = torch.cat([next_obs, next_action], 1)
            target = reward + 0.99 * (torch.min(q1_target(joined), q2_target(joined)) - 0.1 * next_log_prob)
        pair = torch.cat([obs, action], 1)
        q_loss = F.mse_loss(q1(pair), target) + F.mse_loss(q2(pair), target)
        q_optimizer.zero_grad()
        q_loss.backward()
        q_optimizer.step()
        fresh, log_prob = squashed(actor, obs)
        pair = torch.cat([obs, fresh], 1)
        q_value = torch.min(q1(pair), q2(pair))
        actor_loss = (log_alpha.exp().detach() * log_prob - q_value).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        alpha_loss = -(log_alpha * (log_prob.detach() - 1.0)).mean()
        alpha_optimizer.zero_grad()
        alpha_loss.backward()
        alpha_optimizer.step()
        follow(q1, q1_target)
        follow(q2, q2_target)


def test_sac() -> None:
    report = watched(sac)
    assert reached(report) == {
        ("q_loss", "F.mse_loss(q1(pair), target)"): {"q1": "q_optimizer"},
        ("q_loss", "F.mse_loss(q2(pair), target)"): {"q2": "q_optimizer"},
        ("actor_loss", "log_alpha.exp().detach() * log_prob"): {"actor": "actor_optimizer"},
        ("actor_loss", "q_value"): {"actor": "actor_optimizer", "q1": "discarded", "q2": "discarded"},
        ("alpha_loss", ""): {"log_alpha": "alpha_optimizer"},
    }
    roles = {"actor": "actor", "q1": "critic", "q2": "critic", "log_alpha": "temperature"}
    assert report.roles == {**roles, "q1_target": "target", "q2_target": "target"}


def td3() -> None:
    actor, critic = nn.Sequential(nn.Linear(3, 1), nn.Tanh()), nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1)])
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_optimizer = torch.optim.Adam(actor.parameters())
    critic_optimizer = torch.optim.Adam(critic.parameters())
    for step in range(8):
        obs, action, reward, next_obs = (torch.randn(16, n) for n in (3, 1, 1, 3))
        with torch.no_grad():
            noise = (0.2 * torch.randn_like(action)).clamp(-0.5, 0.5)
            joined = torch.cat([next_obs, (actor_target(next_obs) + noise).clamp(-1, 1)], 1)
            target = reward + 0.99 * torch.min(*(q(joined) for q in critic_target))
        pair = torch.cat([obs, action], 1)
        critic_loss = sum(F.mse_loss(q(pair), target) for q in critic)
        assert isinstance(critic_loss, Tensor)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()
        if step % 2:
            actor_loss = -critic[0](torch.cat([obs, actor(obs)], 1)).mean()
            actor_optimizer.zero_grad()
            actor_loss.backward()
            actor_optimizer.step()
            follow(actor, actor_target)
            follow(critic, critic_target)


def test_td3() -> None:
    report = watched(td3)
    cells = reached(report)
    assert cells["actor_loss", ""] == {"actor": "actor_optimizer", "critic.0": "discarded"}
    critic_rows = [row for (loss, _), row in cells.items() if loss == "critic_loss"]
    assert critic_rows == [{"critic.0": "critic_optimizer", "critic.1": "critic_optimizer"}]
    assert report.roles["actor"] == "actor"
    assert {report.roles[m] for m in ("critic.0", "critic.1")} == {"critic"}
    assert {role for m, role in report.roles.items() if "target" in m} == {"target"}


def test_shares_agree_with_autograd() -> None:
    """Every share, norm and cosine of a sum of three terms, computed again from scratch."""
    torch.manual_seed(3)
    trunk, head = nn.Linear(4, 8), nn.Linear(8, 2)
    optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.0)
    obs = torch.randn(16, 4)

    def terms() -> tuple[Tensor, Tensor, Tensor]:
        out = head(torch.tanh(trunk(obs)))
        return out.pow(2).mean(), out.sin().mean(), trunk(obs).abs().mean()

    with whygrad.watch() as watching:
        for _ in range(2):
            first, second, third = terms()
            loss = first + 3 * second - 0.5 * third
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    modules = {"trunk": list(trunk.parameters()), "head": list(head.parameters())}
    scaled = dict(zip(("first", "3 * second", "0.5 * third"), (1.0, 3.0, -0.5), strict=True))
    flat: dict[tuple[str, str], Tensor] = {}
    for (name, factor), term in zip(scaled.items(), terms(), strict=True):
        for module, parameters in modules.items():
            grads = torch.autograd.grad(factor * term, parameters, retain_graph=True, allow_unused=True)
            if all(g is not None for g in grads):
                flat[name, module] = torch.cat([g.flatten() for g in grads]).double()
    rows = {row.term: row for row in watching.report.matrix}
    assert rows.keys() == scaled.keys()
    for (name, module), gradient in flat.items():
        cell = rows[name].cells[module]
        total = sum(float(g.norm()) for (_, m), g in flat.items() if m == module)
        assert cell.norm == pytest.approx(float(gradient.norm()), rel=1e-5)
        assert cell.share == pytest.approx(float(gradient.norm()) / total, rel=1e-5)
        for (other, m), second_gradient in flat.items():
            if m == module and other != name:
                expected = float(F.cosine_similarity(gradient, second_gradient, dim=0))
                assert rows[name].cosines[module][other] == pytest.approx(expected, abs=1e-5)
    assert "head" not in rows["0.5 * third"].cells


def test_terms_are_not_differentiated_where_a_hook_would_notice() -> None:
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    calls: list[int] = []
    with whygrad.watch() as watching:
        for _ in range(3):
            out = net(torch.randn(4, 3))
            out.register_hook(lambda grad: calls.append(1))
            loss = out.mean() + out.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert len(calls) == 3
    assert all(cell.norm is None for row in watching.report.matrix for cell in row.cells.values())
