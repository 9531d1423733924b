"""Compiled code gives the same numbers and is found healthy."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

import whygrad
from whygrad.session import active

FROM_OUTSIDE = "compiled functions were seen from outside only; TORCH_COMPILE_DISABLE=1 shows them whole"


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


def build() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))


def train(model: nn.Module, loss_of: Callable[[Tensor], Tensor], rounds: int = 8) -> list[Tensor]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(rounds):
        loss = loss_of(torch.randn(8, 4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


def healthy(arrange: Callable[[nn.Sequential], Callable[[Tensor], Tensor]]) -> None:
    """Train once alone and once watched; `arrange` makes the compiled loss of a model."""
    torch._dynamo.reset()
    alone = build()
    expected = train(alone, arrange(alone))
    torch._dynamo.reset()
    model = build()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with whygrad.watch() as watching:
            weights = train(model, arrange(model))
    assert all(torch.allclose(a, b) for a, b in zip(weights, expected, strict=True))
    assert watching.report.findings == []
    assert watching.report.limits == [FROM_OUTSIDE]
    assert {row.grad for row in watching.report.parameters} == {"nonzero"}
    assert torch.overrides._get_current_function_mode_stack() == []


def test_compiled_function_of_its_arguments() -> None:
    def arrange(model: nn.Sequential) -> Callable[[Tensor], Tensor]:
        compiled = torch.compile(lambda net, x: (net(x) - 1.0).pow(2).mean(), backend="eager")
        return lambda x: torch.as_tensor(compiled(model, x))

    healthy(arrange)


def test_compiled_closure() -> None:
    def arrange(model: nn.Sequential) -> Callable[[Tensor], Tensor]:
        @torch.compile(backend="eager")
        def loss(x: Tensor) -> Tensor:
            out: Tensor = model(x).tanh()
            return out.pow(2).mean()

        return loss

    healthy(arrange)


def test_compiled_module() -> None:
    def arrange(model: nn.Sequential) -> Callable[[Tensor], Tensor]:
        compiled = torch.compile(model, backend="eager")
        return lambda x: (compiled(x) - 1.0).pow(2).mean()

    healthy(arrange)


def test_compiled_before_the_watch() -> None:
    torch._dynamo.reset()
    model = build()
    compiled = torch.compile(model, backend="eager")
    x = torch.randn(8, 4)
    expected = compiled(x).detach()
    with whygrad.watch() as watching:
        inside = compiled(x).detach()
        with torch.no_grad():
            quiet = compiled(x)
    assert torch.allclose(inside, expected)
    assert torch.allclose(quiet, expected)
    assert watching.report.limits == [FROM_OUTSIDE]
