"""Gradient noise as the optimizer's own averages show it, against gradients whose noise is known."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from test_telemetry_sampling import watched
from whygrad.telemetry.record import Record

SIZE = 20_000


def drawn(share: float, steps: int, optimizer: Any = torch.optim.Adam, **options: Any) -> list[Record]:
    """Gradients of which this share of the mean square is noise, drawn anew for each step."""
    torch.manual_seed(0)
    weight = nn.Parameter(torch.zeros(SIZE))
    updater = optimizer([weight], lr=0.0, **options)
    mean = torch.randn(SIZE) * (1 - share) ** 0.5

    def run() -> None:
        for _ in range(steps):
            updater.zero_grad()
            (weight * (mean + torch.randn(SIZE) * share**0.5)).sum().backward()
            updater.step()

    return watched(run, trace="off")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.5, 0.9)])
def test_the_share_of_noise_is_found(share: float, betas: tuple[float, float]) -> None:
    for record in drawn(share, 40, betas=betas)[4:]:
        assert record.parameters[0].noise == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("options", [{"foreach": True}, {"fused": True}, {"amsgrad": True}], ids=str)
@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.AdamW])
def test_implementations_make_no_difference(optimizer: Any, options: dict[str, Any]) -> None:
    records = drawn(0.5, 12, optimizer, **options)
    assert records[-1].parameters[0].noise == pytest.approx(0.5, abs=0.05)


def test_an_optimizer_without_averages_has_no_noise() -> None:
    assert {r.parameters[0].noise for r in drawn(0.5, 4, torch.optim.SGD)} == {None}


def test_a_parameter_without_gradient_has_none() -> None:
    used, idle = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([idle, used])

    def run() -> None:
        for _ in range(4):
            optimizer.zero_grad()
            used.pow(2).sum().backward()
            optimizer.step()

    records = watched(run, trace="off")
    assert [p.name for p in records[-1].parameters] == ["used"]
    assert records[-1].parameters[0].noise == pytest.approx(0.0, abs=0.01)
