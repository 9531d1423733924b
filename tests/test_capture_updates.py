"""Unusual ways to update weights: sparse, scaled, by hand, inside backward, several losses in one call."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import whygrad
from whygrad.capture.torch import Capture
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


def test_two_losses_in_one_call() -> None:
    actor, torso, head = nn.Linear(4, 1), nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*actor.parameters(), *torso.parameters(), *head.parameters()], lr=0.1)

    def train(cut: bool) -> list[tuple[str, list[str]]]:
        with whygrad.watch() as watching:
            for _ in range(4):
                x = torch.randn(8, 4)
                features = torso(x).detach() if cut else torso(x)
                losses = [actor(x).pow(2).mean(), head(features).pow(2).mean()]
                optimizer.zero_grad()
                torch.autograd.backward(losses)
                optimizer.step()
        return [(finding.code, sorted(finding.parameters)) for finding in watching.report.loud]

    assert train(cut=False) == []
    assert train(cut=True) == [("WG103", ["torso.bias", "torso.weight"])]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_of_any_precision_are_seen_to_move(dtype: torch.dtype) -> None:
    online, target, unmoved = (nn.Linear(4, 1, dtype=dtype) for _ in range(3))
    optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
    capture = Capture()
    capture.start()
    for update in range(12):
        obs = torch.randn(8, 4, dtype=dtype)
        with torch.no_grad():
            goal = torch.randn(8, 1, dtype=dtype) + 0.9 * target(obs) + unmoved(obs)
        optimizer.zero_grad()
        (online(obs) - goal).pow(2).mean().backward()
        optimizer.step()
        if update == 5:
            target.load_state_dict(online.state_dict())
    rows = {p.name: (p.moved, p.still) for p in capture.stop().parameters}
    assert rows["target.weight"] == rows["online.weight"] == (True, 0)
    assert rows["unmoved.weight"] == (False, 11)  # Since the first step.
