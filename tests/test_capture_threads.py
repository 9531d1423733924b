"""Training in other threads and data from other processes: not broken, and seen."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import multiprocessing as mp
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

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


def stack() -> list[object]:
    return list(torch.overrides._get_current_function_mode_stack())


def train(cut: bool = False, rounds: int = 10) -> list[Tensor]:
    torch.manual_seed(3)
    torso, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*torso.parameters(), *head.parameters()], lr=0.1)
    for _ in range(rounds):
        features = torso(torch.randn(8, 4))
        loss = head(features.detach() if cut else features).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [p.detach() for p in (*torso.parameters(), *head.parameters())]


def in_thread(work: Callable[[], list[Tensor]]) -> list[Tensor]:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def same(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_healthy_training_in_a_second_thread() -> None:
    expected = train()
    with whygrad.watch() as watching:
        weights = in_thread(train)
    assert same(weights, expected)
    assert watching.report.findings == []
    assert watching.report.limits == []
    assert watching.report.updates == watching.report.backward_calls == 10
    assert {row.name for row in watching.report.parameters} == {
        f"{module}.{name}" for module in ("torso", "head") for name in ("weight", "bias")
    }


def test_nothing_is_left_on_the_first_thread_when_the_second_trains() -> None:
    with whygrad.watch():
        in_thread(train)
    assert stack() == []
    with whygrad.watch() as again:
        train(cut=True)
    assert [finding.code for finding in again.report.loud] == ["WG103"]


def test_broken_training_in_a_second_thread_is_not_given_a_wrong_cause() -> None:
    with whygrad.watch() as watching:
        in_thread(lambda: train(cut=True))
    assert {finding.code for finding in watching.report.loud} <= {"WG103"}


def test_watch_inside_the_thread_that_trains() -> None:
    codes: list[str] = []
    left: list[object] = []

    def work() -> list[Tensor]:
        with whygrad.watch() as watching:
            weights = train(cut=True)
        codes.extend(finding.code for finding in watching.report.loud)
        left.extend(stack())
        return weights

    in_thread(work)
    assert codes == ["WG103"]
    assert left == []


def test_acting_in_a_second_thread_while_the_first_trains() -> None:
    expected = train(rounds=30)
    done = threading.Event()
    failures: list[Exception] = []

    actor = nn.Linear(4, 2)

    def act() -> None:
        try:
            while not done.is_set():
                with torch.no_grad():
                    assert not actor(torch.ones(1, 4)).requires_grad
                assert torch.is_grad_enabled()
        except Exception as error:
            failures.append(error)

    with whygrad.watch(trace="always") as watching:
        worker = threading.Thread(target=act)
        worker.start()
        weights = train(rounds=30)
        done.set()
        worker.join()
    assert failures == []
    assert same(weights, expected)
    assert watching.report.findings == []
    assert watching.report.limits == []


def test_two_threads_train_at_once() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # A switch between any two instructions is likely now.
    try:
        for _ in range(8):
            with whygrad.watch() as watching, ThreadPoolExecutor(2) as pool:
                results = list(pool.map(train_own, (1, 2)))
            assert all(results)
            assert watching.report.limits == []
            assert watching.report.findings == []
            assert 36 <= watching.report.updates <= 40  # Two threads may count at the same instant.
            assert stack() == []
    finally:
        sys.setswitchinterval(interval)


def train_own(seed: int) -> bool:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    before = net.weight.detach().clone()
    for _ in range(20):
        loss = (net(torch.full((2, 4), float(seed))) - 1.0).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return not torch.equal(net.weight, before)


def test_loader_with_workers(capfd: pytest.CaptureFixture[str]) -> None:
    data = TensorDataset(torch.arange(32.0).reshape(16, 2), torch.ones(16, 1))
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    seen = 0.0
    with whygrad.watch() as watching:
        for x, y in DataLoader(data, batch_size=4, num_workers=2):
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += float(x.sum())
    assert seen == float(torch.arange(32.0).sum())
    assert watching.report.findings == []
    assert watching.report.limits == []
    assert capfd.readouterr().err == ""


def child(answers: mp.SimpleQueue[tuple[int, str]]) -> None:
    with whygrad.watch() as watching:
        train(cut=True)
    answers.put((len(stack()), " ".join(finding.code for finding in watching.report.loud)))


def test_forked_child_is_left_alone_and_may_watch_itself() -> None:
    context = mp.get_context("fork")
    answers = context.SimpleQueue()
    with whygrad.watch() as watching:
        process = context.Process(target=child, args=(answers,))
        process.start()
        process.join(60)
        train()
    assert process.exitcode == 0
    assert answers.get() == (0, "WG103")
    assert watching.report.findings == []
    assert watching.report.updates == 10
