"""Weights that are not finite are not healthy, wherever the one bad value stands and whoever moves them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

import whygrad
from whygrad import UnhealthyError
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
            loss = nn.functional.cross_entropy(head(table(drawn)), drawn % 5)
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
            for weights in layer.parameters():
                weights.data.sub_(0.1 * weights.grad)
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
