"""Starting, stopping, nesting and repeating a watch."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

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


def train(cut: bool = False, rounds: int = 3) -> float:
    torso, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*torso.parameters(), *head.parameters()], lr=0.1)
    loss = torch.zeros(())
    for _ in range(rounds):
        features = torso(torch.randn(8, 4))
        loss = head(features.detach() if cut else features).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def codes(report: whygrad.Report) -> list[str]:
    return [finding.code for finding in report.loud]


def test_two_watches_one_after_the_other() -> None:
    with whygrad.watch() as first:
        train(cut=True)
    with whygrad.watch() as second:
        train()
    with whygrad.watch() as third:
        train(cut=True, rounds=4)
    assert [codes(w.report) for w in (first, second, third)] == [["WG103"], [], ["WG103"]]
    assert [w.report.updates for w in (first, second, third)] == [3, 3, 4]
    assert [len(w.report.parameters) for w in (first, second, third)] == [4, 4, 4]


def test_decorator_watches_each_call() -> None:
    @whygrad.watch(updates=2)
    def run(cut: bool) -> float:
        """Says what it does."""
        return train(cut)

    assert isinstance(run(True), float)
    assert codes(run.report) == ["WG103"]  # type: ignore[attr-defined]
    assert isinstance(run(False), float)
    assert codes(run.report) == []  # type: ignore[attr-defined]
    assert (run.__name__, run.__doc__) == ("run", "Says what it does.")
    assert active() is None


def test_decorated_function_that_raises() -> None:
    @whygrad.watch()
    def run() -> None:
        train(cut=True)
        raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        run()
    assert codes(run.report) == ["WG103"]  # type: ignore[attr-defined]
    assert active() is None


def test_start_and_stop() -> None:
    session = whygrad.start(updates=3)
    assert active() is session
    train(cut=True)
    report = whygrad.stop()
    assert codes(report) == ["WG103"]
    assert report is session.report
    assert active() is None
    with pytest.raises(RuntimeError, match="not watching"):
        whygrad.stop()


def test_second_start_is_refused_and_harmless() -> None:
    session = whygrad.start()
    with pytest.raises(RuntimeError, match="already watching"):
        whygrad.start()
    with pytest.raises(RuntimeError, match="started already"):
        session.start()
    with pytest.raises(RuntimeError, match="already watching"), whygrad.watch():
        pass
    train(cut=True)
    assert codes(whygrad.stop()) == ["WG103"]
    with pytest.raises(RuntimeError, match="started already"):
        session.start()
    assert active() is None


def test_report_ends_the_watching() -> None:
    session = whygrad.start()
    train()
    report = session.report
    train(cut=True)
    assert session.report is report
    assert codes(report) == []
    assert active() is None


def test_error_passes_through_unchanged() -> None:
    error = ZeroDivisionError("mine")
    watching = whygrad.watch()

    def run() -> None:
        with watching:
            train()
            raise error

    with pytest.raises(ZeroDivisionError) as caught:
        run()
    assert caught.value is error
    assert watching.report.findings == []
    assert not hasattr(error, "__notes__")


def test_error_of_torch_gets_a_note() -> None:
    with pytest.raises(RuntimeError) as caught, whygrad.watch() as watching:
        nn.Linear(4, 1)(torch.randn(8, 4)).backward()
    assert codes(watching.report) == ["WG604"]
    assert any("whygrad[WG604]" in note for note in caught.value.__notes__)


def test_untouched_torch_is_said_so() -> None:
    with whygrad.watch() as watching:
        torch.ones(2).sum()
    assert watching.report.findings == []
    assert watching.report.verdict == "incomplete"
    assert [gap.do for gap in watching.report.gaps] == ["there is no training to explain yet"]


@pytest.mark.parametrize(("trace", "traced"), [("off", 0), ("auto", 5), ("always", 9)])
def test_trace_policy(trace: str, traced: int) -> None:
    with whygrad.watch(trace=trace) as watching:
        train(rounds=9)
    assert watching.capture is not None
    assert watching.capture.traced_updates == traced
    assert watching.report.updates == 9
    assert watching.report.findings == []


def test_unknown_option_is_refused() -> None:
    from whygrad.config import ConfigError

    with pytest.raises(ConfigError, match="unknown key"):
        whygrad.watch(tracing="auto")
    assert active() is None
