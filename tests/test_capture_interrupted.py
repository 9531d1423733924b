"""Ctrl-C, timeouts and the like that a script catches: what was under way never ended, and nothing is blamed for it."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import whygrad
from whygrad.capture.torch.gradients import Gradients
from whygrad.session import active

Interruption = type[BaseException]
WHERE = ("backward", "step", "zero_grad", "our own work")
HOWS = (KeyboardInterrupt, TimeoutError, SystemExit)


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    torch.manual_seed(0)
    yield
    session = active()
    if session is not None:
        session.stop()


class Interrupting(torch.optim.SGD):
    """Raises in the middle of a step or of a clearing when it is told to."""

    raised: BaseException | None = None
    where = ""

    def _now(self, where: str) -> None:
        error = self.raised
        if error is not None and self.where == where:
            self.raised = None
            raise error

    def step(self, closure: Any = None) -> Any:
        self._now("step")
        return super().step(closure)

    def zero_grad(self, set_to_none: bool = True) -> None:
        self._now("zero_grad")
        super().zero_grad(set_to_none)


def before(monkeypatch: pytest.MonkeyPatch, name: str, first: Callable[[Gradients], None]) -> None:
    """Do something right before a method of the ledger."""
    method = getattr(Gradients, name)

    def both(gradients: Gradients) -> Any:
        first(gradients)
        return method(gradients)

    monkeypatch.setattr(Gradients, name, both)


def train(how: Interruption, where: str, monkeypatch: pytest.MonkeyPatch, set_to_none: bool) -> whygrad.Report:
    """Thirty updates of a healthy loop, interrupted in four of them."""
    net = nn.Linear(4, 1)
    optimizer = Interrupting(net.parameters(), lr=0.01)
    pending: list[BaseException] = []

    def interrupt(*_: Any) -> None:
        if pending:
            raise pending.pop()

    def update(number: int) -> None:
        loss = (net(torch.randn(8, 4)) - torch.randn(8, 1)).pow(2).mean()
        optimizer.zero_grad(set_to_none)
        if where == "backward":
            loss.register_hook(interrupt)
        loss.backward()
        optimizer.step()

    if where == "our own work":
        before(monkeypatch, "snapshot", interrupt)
    with whygrad.watch(trace="always") as watching:
        for number in range(30):
            if number in (7, 8, 15, 22):
                pending.append(how("the script's own"))
                optimizer.raised, optimizer.where = pending[-1], where
                if where in ("step", "zero_grad"):
                    pending.clear()
            with contextlib.suppress(how):
                update(number)
    assert not pending
    return watching.report


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("how", HOWS)
def test_a_script_that_goes_on_is_healthy(
    how: Interruption, where: str, set_to_none: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = train(how, where, monkeypatch, set_to_none)
    assert report.verdict == "healthy", report.loud
    assert not report.gaps


@pytest.mark.parametrize("where", WHERE)
def test_what_follows_is_traced_again(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    before(monkeypatch, "settle", lambda gradients: seen.append(gradients.tracing()))
    train(KeyboardInterrupt, where, monkeypatch, True)
    assert len(seen) > 40  # Before the backward and before the step of nearly every update.


def found_after(interruptions: int, body: Callable[[nn.Module, torch.optim.Optimizer, Any], None]) -> set[str]:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    left = [KeyboardInterrupt() for _ in range(interruptions)]

    def interrupt(_: Tensor) -> None:
        if left:
            raise left.pop()

    with whygrad.watch(trace="always") as watching:
        for _ in range(20):
            with contextlib.suppress(KeyboardInterrupt):
                body(net, optimizer, interrupt)
    return {finding.code for finding in watching.report.loud}


def test_a_bug_is_still_found_after_an_interruption() -> None:
    def never_cleared(net: nn.Module, optimizer: torch.optim.Optimizer, interrupt: Any) -> None:
        loss = (net(torch.randn(8, 4)) - 1).pow(2).mean()
        loss.register_hook(interrupt)
        loss.backward()
        optimizer.step()

    def cut(net: nn.Module, optimizer: torch.optim.Optimizer, interrupt: Any) -> None:
        loss = (net(torch.randn(8, 4)).detach() - 1).pow(2).mean().requires_grad_()
        loss.register_hook(interrupt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    assert found_after(3, never_cleared) == {"WG301"}
    assert found_after(3, cut) & {"WG101", "WG103"}


class Differentiating(torch.optim.SGD):
    """Asks for gradients of its own in the middle of its step, as second-order methods do."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        with torch.enable_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    torch.autograd.grad(parameter.pow(2).sum(), parameter)
        return super().step(closure)


def test_an_optimizer_that_differentiates_in_its_step_interrupts_nothing() -> None:
    net = nn.Linear(4, 1)
    optimizer = Differentiating(net.parameters(), lr=0.01)
    with whygrad.watch(trace="always") as watching:
        for _ in range(10):
            loss = (net(torch.randn(8, 4)) - torch.randn(8, 1)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        session = active()
        assert session is not None
        openings = list(session.capture.openings)
    assert watching.report.verdict == "healthy"
    assert not openings
