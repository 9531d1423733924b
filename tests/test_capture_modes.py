"""Other function modes of torch on the stack: they survive the window's opening and closing."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext

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


class Counting(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        return func(*args, **(kwargs or {}))


def stack() -> list[Any]:
    return list(torch.overrides._get_current_function_mode_stack())


def train(rounds: int = 8, cut: bool = False) -> None:
    torso, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*torso.parameters(), *head.parameters()], lr=0.1)
    for _ in range(rounds):
        features = torso(torch.randn(8, 4))
        loss = head(features.detach() if cut else features).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_default_device_when_the_window_closes() -> None:
    torch.set_default_device("cpu")
    try:
        before = stack()
        with whygrad.watch() as watching:
            train()
            assert stack() == before
        assert stack() == before
    finally:
        torch.set_default_device(None)
    assert watching.report.findings == []
    assert stack() == []


def test_default_device_set_and_unset_while_tracing() -> None:
    with whygrad.watch(trace="always") as watching:
        torch.set_default_device("cpu")
        train(2)
        torch.set_default_device(None)
        train(2, cut=True)
    assert [finding.code for finding in watching.report.loud] == ["WG103"]
    assert stack() == []


def test_device_block_around_the_closing_of_the_window() -> None:
    with whygrad.watch() as watching:
        with torch.device("cpu"):
            train()
        assert stack() == []
    assert watching.report.findings == []


def test_device_block_around_the_opening_of_the_window() -> None:
    with whygrad.watch() as watching:
        train()
        with torch.device("cpu"):
            train(2)
        assert not any(isinstance(mode, DeviceContext) for mode in stack())
        train(2, cut=True)
    assert stack() == []
    assert [finding.code for finding in watching.report.loud] == ["WG103"]


def test_mode_of_the_user_around_the_closing_of_the_window() -> None:
    with whygrad.watch() as watching:
        with Counting() as counting:
            train()
            assert stack() == [counting]
        assert stack() == []
    assert counting.calls > 0
    assert watching.report.findings == []


def test_mode_of_the_user_around_the_opening_of_the_window() -> None:
    with whygrad.watch() as watching:
        train()
        with Counting() as counting:
            train(2)
        calls = counting.calls
        train(2, cut=True)
        assert counting.calls == calls
    assert stack() == []
    assert [finding.code for finding in watching.report.loud] == ["WG103"]


def test_mode_of_the_user_entered_before_and_left_inside() -> None:
    counting = Counting()
    counting.__enter__()
    watching = whygrad.watch().start()
    train(2)
    counting.__exit__(None, None, None)
    calls = counting.calls
    train(2)
    assert counting.calls == calls
    assert watching.stop().findings == []
    assert stack() == []


def test_watch_stopped_inside_a_mode() -> None:
    watching = whygrad.watch().start()
    with Counting() as counting:
        train(2)
        watching.stop()
        assert stack() == [counting]
    assert stack() == []
