"""Unusual ways to update weights: sparse, scaled, by hand, inside backward, late or shared parameters."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import whygrad
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


def test_sparse_gradients() -> None:
    table, head = nn.Embedding(10, 3, sparse=True), nn.Linear(3, 1)
    slow, fast = torch.optim.SparseAdam(table.parameters()), torch.optim.Adam(head.parameters())
    with whygrad.watch() as watching:
        for _ in range(7):
            loss = head(table(torch.randint(0, 10, (4,)))).pow(2).mean()
            slow.zero_grad()
            fast.zero_grad()
            loss.backward()
            slow.step()
            fast.step()
    assert watching.report.findings == []
    assert watching.report.limits == []
    assert {row.name: row.grad for row in watching.report.parameters}["table.weight"] == "nonzero"


def test_scaled_gradients() -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    with whygrad.watch() as watching:
        for _ in range(7):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(torch.randn(8, 4)).float().pow(2).mean()
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
    assert watching.report.findings == []
    assert watching.report.updates == 7


def test_update_by_hand_from_returned_gradients() -> None:
    model = nn.Linear(4, 1)
    weights = [p.detach().clone() for p in model.parameters()]
    with whygrad.watch() as watching:
        for _ in range(6):
            loss = model(torch.randn(8, 4)).pow(2).mean()
            grads = torch.autograd.grad(loss, list(model.parameters()))
            with torch.no_grad():
                for parameter, grad in zip(model.parameters(), grads, strict=True):
                    parameter.sub_(0.1 * grad)
    assert watching.report.findings == []
    assert watching.report.backward_calls == 6
    assert not any(torch.equal(a, b) for a, b in zip(weights, model.parameters(), strict=True))


def test_update_by_hand_of_deposited_gradients() -> None:
    model = nn.Linear(4, 1)
    with whygrad.watch() as watching:
        for _ in range(6):
            model.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            for parameter in model.parameters():
                assert parameter.grad is not None
                parameter.data -= 0.1 * parameter.grad
    assert watching.report.findings == []


def test_losses_handed_over_as_a_generator() -> None:
    model = nn.Linear(4, 1)
    grad: Any = torch.autograd.grad
    backward: Any = torch.autograd.backward
    with whygrad.watch():
        grad, backward = torch.autograd.grad, torch.autograd.backward
        losses = [model(torch.randn(8, 4)).pow(2).mean() for _ in range(2)]
        grads = grad((loss for loss in losses), list(model.parameters()), retain_graph=True)
        backward(loss for loss in losses)
    assert model.weight.grad is not None
    assert torch.equal(grads[0], model.weight.grad)


def test_losses_handed_over_by_keyword() -> None:
    model = nn.Linear(4, 1)
    with whygrad.watch() as watching:
        loss = model(torch.randn(8, 4)).pow(2).mean()
        grads = torch.autograd.grad(outputs=loss, inputs=list(model.parameters()), retain_graph=True)
        torch.autograd.backward(tensors=[loss], retain_graph=True)
        torch.Tensor.backward(self=loss)
    assert model.weight.grad is not None
    assert torch.equal(2 * grads[0], model.weight.grad)
    assert watching.report.backward_calls == 3


def test_optimizer_inside_backward() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
    owners = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def update(parameter: Tensor) -> None:
        owners[parameter].step()  # type: ignore[index]
        owners[parameter].zero_grad()  # type: ignore[index]

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(update)
    with whygrad.watch() as watching:
        for _ in range(9):
            model(torch.randn(8, 4)).pow(2).mean().backward()
    assert torch.overrides._get_current_function_mode_stack() == []
    assert watching.report.findings == []
    assert watching.report.limits == []
    assert watching.report.updates == 36


def test_parameters_added_late() -> None:
    torso, heads = nn.Linear(4, 4), [nn.Linear(4, 1)]
    optimizer = torch.optim.SGD([*torso.parameters(), *heads[0].parameters()], lr=0.1)
    with whygrad.watch() as watching:
        for count in range(14):
            if count == 6:
                heads.append(nn.Linear(4, 1))
                optimizer.add_param_group({"params": heads[-1].parameters()})
            features = torso(torch.randn(8, 4))
            loss = torch.stack([head(features).pow(2).mean() for head in heads]).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert watching.report.findings == []
    names = {row.name for row in watching.report.parameters}
    assert names == {"torso.weight", "torso.bias"} | {f"heads[{i}].{n}" for i in (0, 1) for n in ("weight", "bias")}
    assert all(row.consumed_by == ["optimizer"] for row in watching.report.parameters)


def test_tied_parameters() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(6, 3)
            self.out = nn.Linear(3, 6, bias=False)
            self.out.weight = self.words.weight

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.out(self.words(x))
            return out

    tied = Tied()
    optimizer = torch.optim.Adam(tied.parameters())
    with whygrad.watch() as watching:
        for _ in range(7):
            x = torch.randint(0, 6, (5,))
            loss = nn.functional.cross_entropy(tied(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert watching.report.findings == []
    assert [row.name for row in watching.report.parameters] in (["tied.out.weight"], ["tied.words.weight"])


def test_modules_in_a_plain_list() -> None:
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(4, 4) for _ in range(2)]
            self.head = nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = layer(x).tanh()
            out: Tensor = self.head(x)
            return out

    stack = Stack()
    optimizer = torch.optim.Adam(stack.parameters())
    with whygrad.watch() as watching:
        for _ in range(4):
            loss = stack(torch.randn(8, 4)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    (finding,) = watching.report.loud
    assert finding.code == "WG109"
    assert sorted(finding.parameters) == [f"stack.layers[{i}].{n}" for i in (0, 1) for n in ("bias", "weight")]


@pytest.mark.parametrize("dry_run", [True, False])
def test_lazy_modules(dry_run: bool) -> None:
    with whygrad.watch() as watching:
        net = nn.Sequential(nn.LazyLinear(5), nn.Tanh(), nn.LazyLinear(1))
        if dry_run:
            net(torch.randn(2, 7))
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(4):
            loss = net(torch.randn(8, 7)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert watching.report.limits == []
    assert watching.report.findings == []
    assert {row.name: row.shape for row in watching.report.parameters}["net.0.weight"] == [5, 7]
