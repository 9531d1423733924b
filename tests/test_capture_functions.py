"""Functions whose inside torch hides: custom autograd, functional transforms, checkpoints, compilers."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

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


class Steep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> tuple[Tensor, Tensor]:
        ctx.slope = slope
        return x * slope, x.sign()

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, None]:
        return grad * ctx.slope, None


class Wall(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> None:
        return None


class Sparse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor) -> Tensor:
        ctx.shape = weight.shape
        return weight.sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return (grad * torch.ones(ctx.shape)).to_sparse()


class Overwrite(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        x.mul_(3.0)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 3.0


def watched(loss_of: Callable[[nn.Linear, nn.Linear], Tensor], rounds: int = 7) -> tuple[Report, list[Tensor]]:
    torch.manual_seed(1)
    first, second = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
    with whygrad.watch() as watching:
        for _ in range(rounds):
            loss = loss_of(first, second)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return watching.report, [p.detach() for p in (*first.parameters(), *second.parameters())]


def healthy(loss_of: Callable[[nn.Linear, nn.Linear], Tensor], complete: bool = True) -> None:
    report, _ = watched(loss_of)
    assert report.findings == []
    assert report.limits == []
    assert [row.grad for row in report.parameters if row.consumed_by] == ["nonzero"] * 4
    assert torch.overrides._get_current_function_mode_stack() == []
    if complete:
        assert report.losses[0].trains.items() >= {"first": "2/2", "second": "2/2"}.items()


def test_custom_function() -> None:
    healthy(lambda a, b: (b(Steep.apply(a(torch.randn(8, 4)), 2.0)[0]) - 1.0).pow(2).mean())


def test_custom_function_in_place() -> None:
    healthy(lambda a, b: (b(Overwrite.apply(a(torch.randn(8, 4)).tanh() + 0.0)) - 1.0).pow(2).mean())


def test_custom_function_with_a_sparse_gradient() -> None:
    healthy(lambda a, b: b(a(torch.randn(8, 4))).pow(2).mean() + Sparse.apply(a.weight) * 0.01)


def test_custom_function_that_blocks() -> None:
    report, _ = watched(lambda a, b: (b(Wall.apply(a(torch.randn(8, 4)))) - 1.0).pow(2).mean())
    (finding,) = report.loud
    assert finding.code == "WG113"
    assert sorted(finding.parameters) == ["first.bias", "first.weight"]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint(reentrant: bool) -> None:
    def loss(a: nn.Linear, b: nn.Linear) -> Tensor:
        x = torch.randn(8, 4, requires_grad=True)
        out: Tensor = b(checkpoint(lambda y: a(y).tanh(), x, use_reentrant=reentrant))
        return (out - 1.0).pow(2).mean()

    healthy(loss)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_of_the_whole_model(reentrant: bool) -> None:
    def loss(a: nn.Linear, b: nn.Linear) -> Tensor:
        x = torch.randn(8, 4, requires_grad=True)
        out: Tensor = checkpoint(nn.Sequential(a, nn.Tanh(), b), x, use_reentrant=reentrant)
        return out.pow(2).mean()

    healthy(loss)


def test_functional_call() -> None:
    def loss(a: nn.Linear, b: nn.Linear) -> Tensor:
        model = nn.Sequential(a, nn.Tanh(), b)
        weights = {name: p * 1.0 for name, p in model.named_parameters()}
        out: Tensor = torch.func.functional_call(model, weights, (torch.randn(8, 4),))
        return out.pow(2).mean()

    healthy(loss)


def test_vmap() -> None:
    healthy(lambda a, b: torch.vmap(lambda x: b(a(x).tanh()))(torch.randn(8, 4)).pow(2).mean(), complete=False)


def test_functional_gradient_and_update() -> None:
    model = nn.Linear(4, 1)
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    start = weights["weight"].clone()

    def loss(values: dict[str, Tensor], x: Tensor) -> Tensor:
        return torch.as_tensor(torch.func.functional_call(model, values, (x,))).pow(2).mean()

    with whygrad.watch() as watching:
        for _ in range(5):
            grads = torch.func.grad(loss)(weights, torch.randn(8, 4))
            weights = {name: value - 0.1 * grads[name] for name, value in weights.items()}
        each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, torch.randn(8, 4))
        torch.func.jacrev(lambda x: x.tanh())(torch.randn(3))
    assert watching.report.findings == []
    assert watching.report.limits == []
    assert not torch.equal(weights["weight"], start)
    assert each["weight"].shape == (8, 1, 4)


def test_gradient_of_a_gradient() -> None:
    def loss(a: nn.Linear, b: nn.Linear) -> Tensor:
        x = torch.randn(8, 4, requires_grad=True)
        (slope,) = torch.autograd.grad(b(a(x).tanh()).sum(), x, create_graph=True)
        value: Tensor = b(a(x))
        penalty: Tensor = (slope.norm(dim=1) - 1.0).pow(2).mean()
        return penalty + value.pow(2).mean()

    healthy(loss)


def test_inputs_that_ask_for_gradient_are_no_parameters() -> None:
    report, _ = watched(lambda a, b: b(a(torch.randn(8, 4, requires_grad=True))).pow(2).mean())
    assert report.findings == []
    assert [row.name for row in report.parameters] == [
        f"{m}.{n}" for m in ("first", "second") for n in ("weight", "bias")
    ]


def test_scripted_function() -> None:
    def scripted(x: Tensor) -> Tensor:
        with torch.no_grad():
            scale = x.abs().max() + 1.0
        return x.tanh() * scale

    def loss(a: nn.Linear, b: nn.Linear) -> Tensor:
        out: Tensor = b(torch.jit.script(scripted)(a(torch.randn(8, 4))))
        return out.pow(2).mean()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        healthy(loss, complete=False)
