"""Backward calls that raise, and a script that goes on as if they had not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import whygrad
from whygrad.report.model import Report

Spoil = Callable[[int, torch.Tensor], torch.Tensor]


def caught(spoil: Spoil, updates: int = 60, between: Callable[[int], object] = lambda _: None) -> Report:
    """An update whose loss may be spoilt, inside a `try` that lets nothing out."""
    torch.manual_seed(2)
    with whygrad.watch() as watching:
        layer = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
        for number in range(updates):
            between(number)
            inputs = torch.randn(12, 3)
            loss: Any = spoil(number, (layer(inputs) - inputs[:, :2]).abs().mean())
            optimizer.zero_grad()
            try:
                loss.backward()
            except RuntimeError:
                continue
            optimizer.step()
    return watching.report


def gaps(report: Report) -> list[str]:
    return [gap.what for gap in report.gaps]


def test_a_loss_without_a_graph_is_explained_although_nobody_hears_of_it() -> None:
    report = caught(lambda number, loss: loss.detach() if number >= 20 else loss)
    assert [finding.code for finding in report.loud] != []
    (what,) = gaps(report)
    assert what.startswith("40 of 60 backward calls raised RuntimeError at test_verdict_swallowed.py:")
    assert what.endswith("and the script went on, from update 21 on")


def test_recording_that_is_switched_off_late_is_named() -> None:
    def between(number: int) -> None:
        if number == 55:
            torch.set_grad_enabled(False)

    try:
        report = caught(lambda _, loss: loss, between=between)
    finally:
        torch.set_grad_enabled(True)
    assert [finding.code for finding in report.loud] == ["WG104"]
    (what,) = gaps(report)
    assert what.startswith("5 of 60 ")
    assert what.endswith("from update 56 on")


class Exhausted(torch.autograd.Function):
    @staticmethod
    def forward(_: Any, value: torch.Tensor) -> torch.Tensor:
        return value.clone()

    @staticmethod
    def backward(_: Any, *__: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("out of memory, for one batch")


@pytest.mark.parametrize("every", [30, 3])
def test_a_failure_now_and_then_is_the_scripts_own_affair(every: int) -> None:
    fail: Any = Exhausted.apply
    report = caught(lambda number, loss: loss if number % every else fail(loss))
    assert (report.verdict, gaps(report)) == ("healthy", [])


def test_a_failure_of_torchs_or_the_scripts_own_that_whygrad_cannot_explain_is_said_all_the_same() -> None:
    fail: Any = Exhausted.apply
    report = caught(lambda number, loss: fail(loss) if 10 <= number < 30 else loss)
    raised = "20 of 60 backward calls raised RuntimeError at test_verdict_swallowed.py:30"
    assert report.loud == []
    said = "and the script went on, between update 10 and update 11"
    assert gaps(report) == [f"{raised} (out of memory, for one batch), {said}"]


def test_the_exception_that_ends_the_run_is_not_swallowed() -> None:
    watching, layer = whygrad.watch(), nn.Linear(3, 1)

    def train() -> None:
        with watching:
            for number in range(8):
                loss = layer(torch.ones(2, 3)).sum()
                (loss if number < 7 else loss.detach()).backward()

    with pytest.raises(RuntimeError, match="does not require grad"):
        train()
    assert not any("went on" in what for what in gaps(watching.report))
