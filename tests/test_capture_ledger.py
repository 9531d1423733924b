"""The ledger on real torch: whoever clears, clips, carries, assigns or closes over gradients is seen."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from whygrad.capture.torch import Capture
from whygrad.trace import Trace

Step = Callable[[nn.Module, torch.optim.Optimizer, Tensor], None]


def traced(update: Step, updates: int = 4, optimizer: type[torch.optim.Optimizer] = torch.optim.SGD) -> Trace:
    """A few updates of one linear network, each done by `update`."""
    torch.manual_seed(0)
    capture = Capture()
    capture.start()
    try:
        net = nn.Linear(3, 1)
        made = optimizer(net.parameters(), lr=0.1)  # type: ignore[call-arg]
        for _ in range(updates):
            update(net, made, torch.randn(4, 3))
    finally:
        trace = capture.stop()
    assert capture.guard.broken is None
    return trace


def loss(net: nn.Module, data: Tensor) -> Tensor:
    out: Tensor = net(data)
    return out.pow(2).mean()


def by_optimizer(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()


def by_optimizer_in_place(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad(set_to_none=False)


def by_module(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    net.zero_grad()


def by_none(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in net.parameters():
        parameter.grad = None


def by_deleting(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in net.parameters():
        if parameter.grad is not None:
            del parameter.grad


def by_zero(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in net.parameters():
        if parameter.grad is not None:
            parameter.grad.zero_()


def by_data_zero(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in net.parameters():
        if parameter.grad is not None:
            parameter.grad.data.zero_()


def by_detach_and_zero(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in net.parameters():
        if parameter.grad is not None:
            parameter.grad.detach_()
            parameter.grad.zero_()


def by_multiplying(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in net.parameters():
        if parameter.grad is not None:
            parameter.grad *= 0


def by_foreach(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    grads = [p.grad for p in net.parameters() if p.grad is not None]
    if grads:
        torch._foreach_zero_(grads)


def by_zeros(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)


CLEARING = [
    by_optimizer, by_optimizer_in_place, by_module, by_none, by_deleting, by_zero, by_data_zero,
    by_detach_and_zero, by_multiplying, by_foreach, by_zeros,
]  # fmt: skip


@pytest.mark.parametrize("clear", CLEARING, ids=lambda f: f.__name__)
def test_every_way_to_clear_is_a_clearing(clear: Callable[[nn.Module, torch.optim.Optimizer], None]) -> None:
    def update(net: nn.Module, optimizer: torch.optim.Optimizer, data: Tensor) -> None:
        clear(net, optimizer)
        loss(net, data).backward()
        optimizer.step()

    trace = traced(update)
    assert [set(step.consumed.values()) for step in trace.steps] == [{(b.id,)} for b in trace.backwards]


def test_without_clearing_deposits_add_up() -> None:
    def update(net: nn.Module, optimizer: torch.optim.Optimizer, data: Tensor) -> None:
        loss(net, data).backward()
        optimizer.step()

    trace = traced(update, 3)
    assert [len(step.consumed[0]) for step in trace.steps] == [1, 2, 3]


def test_gradients_carried_by_hand_bring_their_deposits_along() -> None:
    local: list[nn.Module] = []

    def update(net: nn.Module, optimizer: torch.optim.Optimizer, data: Tensor) -> None:
        if not local:
            local.append(copy.deepcopy(net))
        optimizer.zero_grad()
        loss(local[0], data).backward()
        for mine, theirs in zip(local[0].parameters(), net.parameters(), strict=True):
            assert mine.grad is not None
            theirs.grad = mine.grad.clone()
        optimizer.step()

    trace = traced(update, 3)
    assert [len(step.consumed[min(step.consumed)]) for step in trace.steps] == [1, 2, 3]
    assert all(step.assigned for step in trace.steps)


def test_results_of_autograd_grad_count_once_assigned() -> None:
    def update(net: nn.Module, optimizer: torch.optim.Optimizer, data: Tensor) -> None:
        parameters = list(net.parameters())
        for parameter, grad in zip(parameters, torch.autograd.grad(loss(net, data), parameters), strict=True):
            parameter.grad = 0.5 * grad
        optimizer.step()

    trace = traced(update)
    taken = [b.id for b in trace.backwards if b.how == "grad"]
    assert [step.consumed[0] for step in trace.steps] == [(i,) for i in taken]


def test_a_closure_is_consumed_by_its_own_step() -> None:
    def update(net: nn.Module, optimizer: torch.optim.Optimizer, data: Tensor) -> None:
        def closure() -> float:
            optimizer.zero_grad()
            found = loss(net, data)
            found.backward()
            return float(found.detach())

        optimizer.step(closure)

    trace = traced(update, 3, torch.optim.LBFGS)
    assert all(step.closure and step.consumed[0] for step in trace.steps)


def test_clip_knows_norm_limit_and_who_had_a_gradient() -> None:
    def update(net: nn.Module, optimizer: torch.optim.Optimizer, data: Tensor) -> None:
        optimizer.zero_grad()
        loss(net, data).backward()
        expected.append(float(torch.cat([p.grad.flatten() for p in net.parameters() if p.grad is not None]).norm()))
        nn.utils.clip_grad_norm_(net.parameters(), 0.25)
        optimizer.step()

    expected: list[float] = []
    trace = traced(update)
    assert [c.size for c in trace.clips] == pytest.approx(expected, rel=1e-5)
    assert {(c.limit, c.how, c.present) for c in trace.clips} == {(0.25, "norm", frozenset({0, 1}))}


def test_scaling_by_hand_is_seen_with_its_factor() -> None:
    def update(net: nn.Module, optimizer: torch.optim.Optimizer, data: Tensor) -> None:
        optimizer.zero_grad()
        loss(net, data).backward()
        for parameter in net.parameters():
            assert parameter.grad is not None
            parameter.grad.div_(4)
        optimizer.step()

    trace = traced(update)
    assert {(c.how, c.operation, c.limit) for c in trace.clips} == {("hand", "div_", 4.0)}
    assert len(trace.clips) == 4, "one loop over the parameters is one event"


def test_a_scaler_that_has_not_divided_yet_is_noted_at_the_clip() -> None:
    scaler = torch.amp.GradScaler("cpu")

    def update(net: nn.Module, optimizer: torch.optim.Optimizer, data: Tensor) -> None:
        optimizer.zero_grad()
        scaler.scale(loss(net, data)).backward()
        if len(seen) % 2:
            scaler.unscale_(optimizer)
        seen.append(1)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    seen: list[int] = []
    trace = traced(update)
    assert [c.scaled for c in trace.clips] == [True, False, True, False]


def test_copies_tell_their_sources_and_whether_they_blend() -> None:
    other: list[nn.Linear] = []

    def update(net: nn.Module, optimizer: torch.optim.Optimizer, data: Tensor) -> None:
        if not other:
            other.extend(nn.Linear(3, 1) for _ in range(3))
        optimizer.zero_grad()
        (loss(net, data) + sum(loss(o, data).detach() for o in other)).backward()
        optimizer.step()
        other[0].load_state_dict(net.state_dict())
        with torch.no_grad():
            for slow, fast in zip(other[1].parameters(), net.parameters(), strict=True):
                slow.lerp_(fast, 0.1)
        other[2].load_state_dict(other[2].state_dict())

    trace = traced(update, 2)
    kinds = {(bool(c.sources), c.blended, bool(c.itself)) for c in trace.copies}
    assert kinds == {(True, False, False), (True, True, False), (False, False, True)}


def test_a_step_that_moves_nothing_is_told_from_one_that_does() -> None:
    def update(net: nn.Module, optimizer: torch.optim.Optimizer, data: Tensor) -> None:
        optimizer.zero_grad()
        loss(net, data).backward()
        optimizer.param_groups[0]["lr"] = 0.0 if len(seen) % 2 else 0.1
        seen.append(1)
        optimizer.step()

    seen: list[int] = []
    trace = traced(update)
    assert [step.changed for step in trace.steps] == [True, False, True, False]
