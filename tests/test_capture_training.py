"""Ordinary training in many shapes is seen whole and found healthy."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import whygrad
from whygrad.report.model import Report
from whygrad.session import active


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    session = active()
    if session is not None:
        session.stop()
    while torch.overrides._get_current_function_mode_stack():
        torch.overrides._pop_mode()
    torch.set_grad_enabled(True)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRU(4, 6, batch_first=True)
        self.head = nn.Linear(6, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.cell(x[:, None].expand(-1, 3, -1))[0][:, -1])
        return out


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True)
        self.norm = nn.LayerNorm(4)
        self.head = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        words = x[:, None].expand(-1, 3, -1)
        out: Tensor = self.head(self.norm(self.attend(words, words, words)[0] + words).mean(1))
        return out


class Convolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.torso = nn.Sequential(nn.Conv1d(1, 3, 2), nn.BatchNorm1d(3), nn.ReLU(inplace=True), nn.Flatten())
        self.head = nn.Linear(9, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.torso(x[:, None]))
        return out


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 5), nn.PReLU(), nn.Dropout(0.2), nn.Linear(5, 1))


def squared(out: Tensor) -> Tensor:
    return F.mse_loss(out.squeeze(1), torch.ones(8))


def crossed(out: Tensor) -> Tensor:
    return F.cross_entropy(torch.cat([out, -out], 1), torch.zeros(8, dtype=torch.long))


def clipped(out: Tensor) -> Tensor:
    return torch.max(F.huber_loss(out, torch.zeros(8, 1)), F.l1_loss(out, torch.ones(8, 1)))


def watched(model: nn.Module, optimizer: Any, loss_of: Callable[[Tensor], Tensor], rounds: int = 7) -> Report:
    with whygrad.watch() as watching:
        for _ in range(rounds):
            loss = loss_of(model(torch.randn(8, 4)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return watching.report


MODELS: list[Callable[[], nn.Module]] = [Recurrent, Attention, Convolution, perceptron]


@pytest.mark.parametrize("loss_of", [squared, crossed, clipped])
@pytest.mark.parametrize("build", MODELS)
def test_models_and_losses(build: Callable[[], nn.Module], loss_of: Callable[[Tensor], Tensor]) -> None:
    model = build()
    report = watched(model, torch.optim.Adam(model.parameters()), loss_of)
    assert report.findings == []
    assert report.limits == []
    assert {row.name for row in report.parameters} == {f"model.{name}" for name, _ in model.named_parameters()}
    assert all(row.grad == "nonzero" and row.changed for row in report.parameters)
    assert report.losses[0].trains == {"model": f"{len(report.parameters)}/{len(report.parameters)}"}


OPTIMIZERS = "SGD Adam AdamW Adagrad RMSprop NAdam Adamax ASGD Rprop RAdam Adadelta".split()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str) -> None:
    model = perceptron()
    report = watched(model, getattr(torch.optim, name)(model.parameters()), squared)
    assert report.findings == []
    assert report.updates == report.backward_calls == 7
    assert {row.consumed_by[0] for row in report.parameters} == {"optimizer"}


def test_optimizer_written_by_the_user() -> None:
    class Plain(torch.optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {})

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:  # type: ignore[override]
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad, alpha=-0.01)

    model = perceptron()
    report = watched(model, Plain(model.parameters()), squared)
    assert report.findings == []
    assert report.updates == 7


def test_line_search_closure() -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    x, y = torch.randn(8, 4), torch.randn(8, 1)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = (model(x) - y).pow(2).mean()
        loss.backward()
        return loss

    with whygrad.watch() as watching:
        for _ in range(7):
            optimizer.step(closure)
    assert watching.report.findings == []
    assert watching.report.updates == 7
    assert [row.grad for row in watching.report.parameters] == ["nonzero", "nonzero"]
    assert torch.overrides._get_current_function_mode_stack() == []


def test_accumulated_gradients() -> None:
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with whygrad.watch() as watching:
        for count in range(12):
            (squared(model(torch.randn(8, 4))) / 3).backward()
            if count % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
    assert watching.report.findings == []
    assert (watching.report.updates, watching.report.backward_calls) == (4, 12)


def test_training_that_was_prepared_before_the_watch() -> None:
    model = perceptron()
    optimizer = torch.optim.Adam(model.parameters())
    squared(model(torch.randn(8, 4))).backward()
    report = watched(model, optimizer, squared, 3)
    assert report.findings == []
    assert {row.consumed_by[0] for row in report.parameters} == {"optimizer"}
