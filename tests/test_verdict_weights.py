"""Weights that are not finite are not healthy, wherever the one bad value stands and whoever moves them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import whygrad
from whygrad import UnhealthyError
from whygrad.report import words
from whygrad.report.model import Report

Poison = Callable[[torch.Tensor], object]


def gaps(report: Report) -> list[str]:
    return [gap.what for gap in report.gaps]


def poisoned(index: int, value: float = math.nan) -> Poison:
    def spoil(weights: torch.Tensor) -> None:
        with torch.no_grad():
            weights.view(-1)[index] = value

    return spoil


def tokens(spoil: Poison) -> Report:
    torch.manual_seed(3)
    with whygrad.watch() as watching:
        table, head = nn.Embedding(700, 12), nn.Linear(12, 5)
        optimizer = torch.optim.RMSprop([*table.parameters(), *head.parameters()], lr=1e-3)
        for _ in range(12):
            drawn = torch.randint(0, 700, (40,))
            loss: Any = nn.functional.cross_entropy(head(table(drawn)), drawn % 5)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        spoil(table.weight)
    return watching.report


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_one_bad_value_among_thousands_is_seen(value: float) -> None:
    report = tokens(poisoned(5003, value))
    assert gaps(report) == ["table is not finite: NaN or infinite weights at the last look"]
    with pytest.raises(UnhealthyError, match="table is not finite"):
        report.assert_healthy()


def test_large_values_are_finite() -> None:
    assert tokens(poisoned(5003, 3e38)).verdict == "healthy"


def followed(spoil: Poison) -> Report:
    """A network and its average, which moves all the time."""
    torch.manual_seed(4)
    with whygrad.watch() as watching:
        fast = nn.Linear(6, 3)
        slow = copy.deepcopy(fast).requires_grad_(False)
        optimizer = torch.optim.Adam(fast.parameters(), lr=1e-2)
        for _ in range(50):
            now, later = torch.randn(2, 16, 6)
            with torch.no_grad():
                goal = now[:, :1] + 0.95 * slow(later).amax(1, keepdim=True)
            loss = (fast(now).gather(1, torch.randint(0, 3, (16, 1))) - goal).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for mine, its in zip(slow.parameters(), fast.parameters(), strict=True):
                    mine.lerp_(its, 0.1)
        spoil(slow.weight)
    return watching.report


def test_an_average_that_has_moved_is_still_looked_at() -> None:
    assert gaps(followed(poisoned(7))) == ["slow.weight is not finite: NaN or infinite weights at the last look"]
    assert followed(lambda _: None).verdict == "healthy"


def by_hand(spoil: Poison) -> Report:
    torch.manual_seed(5)
    with whygrad.watch() as watching:
        layer = nn.Linear(4, 1)
        for _ in range(20):
            points = torch.randn(8, 4)
            loss = (layer(points) - points.mean(1, keepdim=True)).pow(2).mean()
            layer.zero_grad()
            loss.backward()
            weights: Any
            for weights in layer.parameters():
                weights.data.sub_(weights.grad, alpha=0.1)
        spoil(layer.weight)
    return watching.report


def test_without_an_optimizer_weights_are_looked_at_as_well() -> None:
    assert gaps(by_hand(poisoned(2))) == ["layer.weight is not finite: NaN or infinite weights at the last look"]
    assert by_hand(lambda _: None).verdict == "healthy"


@pytest.mark.parametrize(("value", "said"), [(-math.inf, False), (math.nan, True)])
def test_a_frozen_mask_may_be_infinite(value: float, said: bool) -> None:
    torch.manual_seed(6)
    with whygrad.watch() as watching:
        layer = nn.Linear(4, 4)
        mask = nn.Parameter(torch.full((4, 4), value).triu(1), requires_grad=False)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        for _ in range(8):
            weights = mask.softmax(1).nan_to_num(0.5)
            loss = ((layer(torch.randn(4, 4)) - 1.0).pow(2) * weights).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert any("not finite" in gap for gap in gaps(watching.report)) is said


def stepped(
    parts: Callable[[nn.Module, nn.Module], list[dict[str, Any]]], after: Callable[..., Any] = lambda *_: None
) -> Report:
    """An actor and a value head in one optimizer; `after` is called with both and the optimizer behind each step."""
    torch.manual_seed(8)
    with whygrad.watch() as watching:
        chooser, judge = nn.Linear(5, 3), nn.Linear(5, 1)
        optimizer = torch.optim.Adam(parts(chooser, judge))
        for _ in range(40):
            seen = torch.randn(24, 5)
            policy: Any = torch.distributions.Categorical(logits=chooser(seen))
            act = policy.sample()
            returns, guess = (act == 0).float() + seen[:, 1], judge(seen).squeeze(1)
            loss = (guess - returns).pow(2).mean() - (policy.log_prob(act) * (returns - guess).detach()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            after(chooser, judge, optimizer)
    return watching.report


def rates(first: float, second: float) -> Callable[[nn.Module, nn.Module], list[dict[str, Any]]]:
    return lambda one, two: [
        {"params": list(one.parameters()), "lr": first},
        {"params": list(two.parameters()), "lr": second},
    ]


def unchanged(report: Report) -> list[str]:
    return [row.name for row in report.parameters if not row.changed]


@pytest.mark.parametrize(("rate", "why"), [(0.0, "of the parameter group is zero"), (1e-13, "the update is lost")])
def test_a_group_that_never_moves_is_not_trained(rate: float, why: str) -> None:
    report = stepped(rates(3e-3, rate))
    (finding,) = report.loud
    assert (finding.code, finding.parameters) == ("WG309", ["judge.weight", "judge.bias"])
    assert finding.message.startswith("judge is not learning")
    assert why in finding.why
    assert unchanged(report) == ["judge.weight", "judge.bias"]
    assert "2 of 4 parameters trained" in words.watched(report)


def test_a_group_that_moves_slowly_is_trained() -> None:
    report = stepped(rates(3e-3, 1e-5))
    assert (report.verdict, unchanged(report)) == ("healthy", [])


def test_a_group_whose_rate_a_schedule_holds_at_zero_may_be_meant() -> None:
    schedulers: list[Any] = []

    def parts(one: nn.Module, two: nn.Module) -> list[dict[str, Any]]:
        return rates(3e-3, 1e-3)(one, two)

    def after(_: nn.Module, __: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        if not schedulers:
            late = torch.optim.lr_scheduler.LambdaLR(optimizer, [lambda _: 1.0, lambda n: float(n > 900)])
            schedulers.append(late)
        schedulers[0].step()

    report = stepped(parts, after)
    assert report.loud == []


def test_a_warm_up_of_the_other_part_is_no_finding() -> None:
    def after(_: nn.Module, __: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        optimizer.param_groups[1]["lr"] = 1e-3

    assert stepped(rates(3e-3, 0.0), after).verdict == "healthy"


def test_weights_that_are_put_back_after_every_step_are_not_trained() -> None:
    first: dict[str, torch.Tensor] = {}

    def after(_: nn.Module, judge: nn.Module, __: torch.optim.Optimizer) -> None:
        judge.load_state_dict(first)

    def parts(one: nn.Module, two: nn.Module) -> list[dict[str, Any]]:
        first.update({name: value.clone() for name, value in two.state_dict().items()})
        return rates(3e-3, 3e-3)(one, two)

    report = stepped(parts, after)
    assert report.verdict == "incomplete"
    assert gaps(report) == [
        "judge held its first values at the last look, 39 updates on, although steps found a gradient"
    ]
    assert unchanged(report) == ["judge.weight", "judge.bias"]
    assert "2 of 4 parameters trained" in words.watched(report)


def test_a_plan_that_begins_anew_each_time_is_no_weight_put_back() -> None:
    torch.manual_seed(9)
    with whygrad.watch() as watching:
        model = nn.Linear(4, 2)
        noise = torch.zeros(8, 4, requires_grad=True)
        learner = torch.optim.SGD(model.parameters(), lr=0.05)
        attacker = torch.optim.SGD([noise], lr=0.5, maximize=True)
        for _ in range(40):
            inputs = torch.randn(8, 4)
            attacker.zero_grad()
            (model(inputs + noise) - inputs[:, :2]).pow(2).mean().backward()
            attacker.step()
            learner.zero_grad()
            (model(inputs + noise.detach()) - inputs[:, :2]).pow(2).mean().backward()
            learner.step()
            with torch.no_grad():
                noise.zero_()
    assert watching.report.gaps == []
