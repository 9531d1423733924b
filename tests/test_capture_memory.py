"""Watching holds no tensor alive and its own memory is bounded."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import whygrad
from whygrad.capture.torch import Capture, Options
from whygrad.capture.torch.shadow import Node
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


STEPS = 100_000


def resident() -> float:
    """Megabytes this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def reachable(node: Node | None) -> int:
    seen: set[int] = set()
    queue = [node] if node is not None else []
    while queue:
        found = queue.pop()
        if found.serial not in seen:
            seen.add(found.serial)
            queue.extend(operand for operand, _, _ in found.inputs)
    return len(seen)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_long_rollout_with_a_recurrent_state() -> None:
    weight = nn.Parameter(torch.randn(2, 2))
    state = torch.zeros(1, 2)
    capture = Capture(Options(trace="always"))
    gc.collect()
    before = resident()
    capture.start()
    with torch.no_grad():
        for _ in range(STEPS):
            state = torch.tanh(state @ weight)
    nodes, grown = reachable(capture.shadow.get(state)), resident() - before
    living = len(capture.shadow._table)
    trace = capture.stop()
    assert 1_000 < nodes <= 110_000
    assert grown < 150
    assert living < 100
    assert trace.limits == ["the history of long-lived values was cut off to bound memory"]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_long_rollout_whose_numbers_leave_torch() -> None:
    net = nn.Linear(2, 1)
    kept: list[float] = []
    gc.collect()
    before = resident()
    with whygrad.watch(trace="always") as watching:
        for count in range(20_000):
            with torch.no_grad():
                kept.append(net(torch.tensor([float(count), 1.0])).item())
        grown = resident() - before
    assert len(set(kept)) > 1_000
    assert grown < 150
    assert watching.report.limits == []


def dies(work: Callable[[], weakref.ref[Tensor]]) -> bool:
    """Whether a tensor is gone once the script has let go of it, while the watching goes on."""
    with whygrad.watch(trace="always") as watching:
        ref = work()
        gc.collect()
        gone = ref() is None
    assert watching.report.limits == []
    return gone


def test_activation_dies_with_its_function() -> None:
    net = nn.Linear(64, 64)

    def work() -> weakref.ref[Tensor]:
        big = net(torch.randn(256, 64)).relu()
        loss = big.mean()
        loss.backward()
        return weakref.ref(big)

    assert dies(work)


def test_activation_dies_when_its_variable_is_deleted() -> None:
    net = nn.Linear(64, 64)

    def forward() -> weakref.ref[Tensor]:
        big = net(torch.randn(256, 64)).relu()
        ref = weakref.ref(big)
        big.mean().item()
        del big
        return ref

    assert dies(forward)


def test_activation_dies_when_its_variable_is_deleted_after_backward() -> None:
    net = nn.Linear(64, 64)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    alive: list[bool] = []
    with whygrad.watch(trace="always"):
        for _ in range(4):
            big = net(torch.randn(256, 64)).relu()
            loss = big.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ref = weakref.ref(big)
            del big, loss
            alive.append(ref() is not None)
    assert alive == [False] * 4


def test_gradient_dies_when_cleared() -> None:
    net = nn.Linear(64, 64)

    def work() -> weakref.ref[Tensor]:
        net(torch.randn(256, 64)).mean().backward()
        assert net.weight.grad is not None
        ref = weakref.ref(net.weight.grad)
        net.zero_grad()
        return ref

    assert dies(work)


def test_model_and_optimizer_die_when_dropped() -> None:
    def work() -> weakref.ref[Tensor]:
        net = nn.Linear(64, 64)
        optimizer = torch.optim.Adam(net.parameters())
        net(torch.randn(8, 64)).mean().backward()
        optimizer.step()
        return weakref.ref(net.weight)

    assert dies(work)


def failing(big: Tensor) -> None:
    with pytest.raises(RuntimeError):
        (big @ big.double()).sum()


def test_tensor_in_a_caught_error_dies() -> None:
    def work() -> weakref.ref[Tensor]:
        big = torch.randn(64, 64)
        failing(big)
        return weakref.ref(big)

    assert dies(work)


def test_finished_watch_can_be_collected() -> None:
    def work() -> weakref.ref[Capture]:
        with whygrad.watch() as watching:
            net = nn.Linear(4, 1)
            net(torch.randn(8, 4)).mean().backward()
        assert watching.capture is not None
        return weakref.ref(watching.capture)

    ref = work()
    gc.collect()
    assert ref() is None
