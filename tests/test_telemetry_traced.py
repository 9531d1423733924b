"""What a traced update shows beside its gradients: terms, activations, and signals recognised by their form."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Categorical, Normal

from test_telemetry_sampling import watched
from whygrad.telemetry.record import Record


def norm(value: Tensor, module: nn.Module) -> float:
    grads = torch.autograd.grad(value, list(module.parameters()), retain_graph=True)
    return float(torch.cat([g.flatten().double() for g in grads]).norm())


class Ppo:
    """No variable bears a name that says what it holds; `expected` is measured when nobody watches."""

    def __init__(self, updates: int = 3) -> None:
        torch.manual_seed(0)
        self.agent = nn.ModuleDict({"pi": nn.Linear(5, 3), "v": nn.Linear(5, 1)})
        self.updates = updates
        self.expected: list[dict[str, float]] = []
        self.norms: list[tuple[float, float, float]] = []

    def run(self, check: bool = False) -> None:
        agent = self.agent
        optimizer = torch.optim.SGD(agent.parameters(), lr=0.3)
        x, a, w, g = torch.randn(32, 5), torch.randint(0, 3, (32,)), torch.randn(32), torch.randn(32)
        with torch.no_grad():
            before = Categorical(logits=agent["pi"](x)).log_prob(a)
        for _ in range(self.updates):
            d = Categorical(logits=agent["pi"](x))
            r = (d.log_prob(a) - before).exp()
            one = -torch.min(r * w, r.clamp(0.95, 1.05) * w).mean()
            v = agent["v"](x).squeeze(1)
            two = F.mse_loss(v, g)
            h = d.entropy().mean()
            total = one + 0.5 * two - 0.01 * h
            if check:
                self._measure(r, w, h, v, g, one, two)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()

    def _measure(self, r: Tensor, w: Tensor, h: Tensor, v: Tensor, g: Tensor, one: Tensor, two: Tensor) -> None:
        k, v = r.detach().double(), v.detach()
        self.expected.append(
            {
                "ratio": float(k.mean()),
                "approx_kl": float((k - 1 - k.log()).mean()),
                "clip_fraction": float(((k < 0.95) | (k > 1.05)).double().mean()),
                "advantage": float(w.mean()),
                "entropy": float(h),
                "return": float(g.mean()),
                "explained_variance": 1 - float((g - v).var() / g.var()),
            }
        )
        agent = self.agent
        self.norms.append((norm(one, agent["pi"]), norm(0.5 * two, agent["v"]), norm(0.01 * h, agent["pi"])))


@pytest.fixture(scope="module")
def ppo() -> tuple[Ppo, list[Record]]:
    reference = Ppo()
    reference.run(check=True)
    return reference, watched(Ppo().run)


def test_signals_are_recognised_by_their_form(ppo: tuple[Ppo, list[Record]]) -> None:
    reference, records = ppo
    assert [r.update for r in records] == [2, 3]
    for record, expected in zip(records, reference.expected[1:], strict=True):
        assert record.signals == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert records[-1].signals["clip_fraction"] > 0


def test_a_ratio_is_known_as_a_quotient_too() -> None:
    expected: list[float] = []

    def run() -> None:
        pi = torch.nn.Linear(5, 3)
        optimizer = torch.optim.SGD(pi.parameters(), lr=0.3)
        x, a, w = torch.randn(32, 5), torch.randint(0, 3, (32, 1)), torch.randn(32, 1)
        before = pi(x).softmax(-1).gather(1, a).detach()
        for _ in range(3):
            quotient = pi(x).softmax(-1).gather(1, a) / before
            expected.append(float(quotient.mean()))
            surrogate = -(quotient * w).mean()
            optimizer.zero_grad()
            surrogate.backward()
            optimizer.step()

    records = watched(run)
    assert [r.signals["ratio"] for r in records] == pytest.approx(expected[1:], rel=1e-5)
    assert all(r.signals["approx_kl"] > 0 for r in records)


def test_each_term_of_a_loss_has_its_norm_on_each_module(ppo: tuple[Ppo, list[Record]]) -> None:
    reference, records = ppo
    for record, (one, two, three) in zip(records, reference.norms[1:], strict=True):
        assert record.terms.keys() == {"one", "0.5 * two", "0.01 * h"}
        assert record.terms["one"] == {"agent.pi": pytest.approx(one, rel=1e-4)}
        assert record.terms["0.5 * two"] == {"agent.v": pytest.approx(two, rel=1e-4)}
        assert record.terms["0.01 * h"] == {"agent.pi": pytest.approx(three, rel=1e-4)}
        assert record.to_json()["terms"]["one"] == record.terms["one"]


def test_after_the_window_the_variables_that_held_them_are_read() -> None:
    records = watched(Ppo(updates=12).run)
    reference = Ppo(updates=12)
    reference.run(check=True)
    later = records[-1]
    assert (later.update, later.terms) == (12, {})
    expected = reference.expected[-1]
    assert later.signals == {
        name: pytest.approx(expected[name], rel=1e-4) for name in ("ratio", "approx_kl", "advantage")
    }


def test_traced_updates_are_sampled_whatever_the_budget() -> None:
    records = watched(Ppo(updates=30).run, share=0.001)
    assert [r.update for r in records if r.terms] == [2, 3, 21]


def value_loop(loss: Callable[[nn.Module, Tensor], Tensor], updates: int = 2) -> list[Record]:
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    x = torch.randn(16, 4)

    def run() -> None:
        for _ in range(updates):
            value = loss(net, x)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()

    return watched(run)


def test_a_bootstrapped_target_makes_a_td_error() -> None:
    torch.manual_seed(1)
    frozen, rewards, a = nn.Linear(4, 2), torch.randn(16, 1), torch.zeros(16, 1, dtype=torch.long)
    seen: list[float] = []

    def dqn(net: nn.Module, x: Tensor) -> Tensor:
        with torch.no_grad():
            goal = rewards + 0.9 * frozen(x).max(1, keepdim=True).values
        now = net(x).gather(1, a)
        seen.append(float((goal - now).detach().abs().mean()))
        return F.smooth_l1_loss(now, goal)

    [record] = value_loop(dqn)
    assert record.signals["td_error"] == pytest.approx(seen[1], rel=1e-5)
    assert record.signals.keys() == {"td_error", "explained_variance"}


def test_a_regression_without_a_policy_is_no_return() -> None:
    targets = torch.randn(16)
    [record] = value_loop(lambda net, x: F.mse_loss(net(x)[:, 0], targets))
    assert record.signals == {}


def test_the_entropy_of_a_gaussian_counts_all_dimensions() -> None:
    weights, spread = torch.randn(16), nn.Parameter(torch.full((2,), 0.5).log())

    def loss(net: nn.Module, x: Tensor) -> Tensor:
        d = Normal(net(x), spread.exp())
        score = d.log_prob(torch.zeros(16, 2)).sum(1)
        value: Tensor = -(score * weights).mean() - 0.01 * d.entropy().sum(1).mean()
        return value

    [record] = value_loop(loss)
    expected = 2 * (0.5 + 0.5 * math.log(2 * math.pi) + math.log(0.5))
    assert record.signals == {
        "entropy": pytest.approx(expected, rel=1e-5),
        "advantage": pytest.approx(float(weights.mean()), rel=1e-4),
    }


def layered(net: nn.Module, x: Tensor) -> dict[str, dict[str, float]]:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)

    def run() -> None:
        for _ in range(2):
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            optimizer.step()

    [record] = watched(run)
    shown: dict[str, Any] = record.to_json()["activations"]
    return shown


def test_dead_units_and_saturated_values_by_layer() -> None:
    below, above = nn.Linear(3, 8), nn.Linear(8, 4)
    net = nn.Sequential(below, nn.ReLU(), above, nn.Tanh(), nn.Linear(4, 1))
    with torch.no_grad():
        below.bias.copy_(torch.tensor([-50.0] * 2 + [50.0] * 6))
        above.weight.zero_()
        above.bias.copy_(torch.tensor([9.0, -9.0, 9.0, 0.0]))
    assert layered(net, torch.randn(16, 3)) == {
        "below": {"zeros": 0.25, "dead": 0.25},
        "above": {"saturated": 0.75},
    }


def test_the_units_of_a_convolution_are_its_channels() -> None:
    scale = nn.BatchNorm2d(4)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), scale, nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 1))
    nn.init.constant_(scale.bias, 50.0)
    with torch.no_grad():
        scale.bias[0] = -50.0
    assert layered(net, torch.randn(8, 1, 8, 8)) == {"net.0": {"zeros": 0.25, "dead": 0.25}}


def test_terms_are_given_without_a_gradient_scalers_factor() -> None:
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=512.0)
    x = torch.randn(8, 3)

    def run() -> None:
        for _ in range(2):
            optimizer.zero_grad()
            first, second = net(x).pow(2).mean(), net(x).abs().mean()
            scaler.scale(first + second).backward()
            scaler.step(optimizer)
            scaler.update()

    [record] = watched(run)
    assert record.scale == 512.0
    assert record.terms == {
        "first": {"net": pytest.approx(norm(net(x).pow(2).mean(), net), rel=1e-4)},
        "second": {"net": pytest.approx(norm(net(x).abs().mean(), net), rel=1e-4)},
    }


def test_only_what_the_step_consumes_counts() -> None:
    actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
    first = torch.optim.SGD(actor.parameters(), lr=0.1)
    second = torch.optim.SGD(critic.parameters(), lr=0.1)
    x, goal = torch.randn(16, 3), torch.randn(16, 1)

    def run() -> None:
        for _ in range(3):
            pathwise = -critic(torch.cat([x, actor(x)], 1)).mean()
            first.zero_grad()
            pathwise.backward()
            first.step()
            error = F.mse_loss(critic(torch.randn(16, 5)), goal)
            second.zero_grad()
            error.backward()
            second.step()

    records = watched(run)
    shown = {(r.optimizer, term, module) for r in records for term, norms in r.terms.items() for module in norms}
    assert shown == {("first", "pathwise", "actor"), ("second", "error", "critic")}
