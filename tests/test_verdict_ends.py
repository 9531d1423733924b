"""How a run ends, who trained in it, and how it was watched: what of that keeps a run from being called healthy."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import whygrad
from cli_running import HEALTHY, stored, write
from cli_running import whygrad as command
from whygrad.report.model import Report
from whygrad.report.text import plain


def gaps(report: Report) -> list[str]:
    return [gap.what for gap in report.gaps]


class Loop:
    """Something that trains a line, update by update."""

    def __init__(self) -> None:
        self.line: Any = nn.Linear(2, 1)
        self.optimizer = torch.optim.SGD(self.line.parameters(), lr=0.02)

    def loss(self) -> Any:
        points = torch.randn(10, 2)
        return (self.line(points) - points.sum(1, keepdim=True)).pow(2).mean()

    def update(self) -> None:
        loss = self.loss()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


# -- how it ends


@pytest.mark.parametrize(("leave", "status"), [("sys.exit(4)", 4), ("sys.exit('lost the simulator')", 1)])
def test_a_status_that_is_not_zero_is_a_gap(leave: str, status: int, tmp_path: Path) -> None:
    write(tmp_path, "train.py", HEALTHY + f"import sys\n{leave}\n")
    done = command(tmp_path, "run", "train.py")
    report = stored(tmp_path)
    assert (done.status, report["script_exit_code"], report["verdict"]) == (status, status, "incomplete")
    (gap,) = report["missing"]
    assert gap["what"].startswith(f"the script ended with exit status {status}, after ")


def test_leaving_with_zero_is_healthy_in_a_block_too() -> None:
    watching, loop = whygrad.watch(), Loop()

    def train() -> None:
        with watching:
            for _ in range(6):
                loop.update()
            raise SystemExit(0)

    with pytest.raises(SystemExit):
        train()
    assert watching.report.verdict == "healthy"


def test_a_run_that_was_interrupted_has_the_status_that_a_shell_sees(tmp_path: Path) -> None:
    write(tmp_path, "train.py", HEALTHY + "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    assert command(tmp_path, "run", "train.py").status == -signal.SIGINT
    assert stored(tmp_path)["script_exit_code"] == 128 + signal.SIGINT


def test_a_run_without_a_report_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    write(tmp_path, "first.py", HEALTHY)
    write(tmp_path, "second.py", HEALTHY + "import os\nos._exit(0)\n")
    assert command(tmp_path, "run", "first.py").status == 0
    assert command(tmp_path, "run", "second.py").status == 0
    said = command(tmp_path, "report")
    assert (said.status, said.out) == (2, "")
    assert "the latest run has left no report" in said.err
    assert "healthy" in command(tmp_path, "report", ".whygrad/previous.json").out
    assert command(tmp_path, "run", "first.py").status == 0
    assert "healthy" in command(tmp_path, "report").out


# -- who trains


def test_updates_by_hand_are_counted() -> None:
    loop = Loop()
    with whygrad.watch() as watching:
        for _ in range(9):
            loop.line.zero_grad()
            loop.loss().backward()
            with torch.no_grad():
                for weights in loop.line.parameters():
                    weights -= 0.02 * weights.grad
    assert watching.report.verdict == "healthy"
    assert plain(watching.report).startswith("whygrad: healthy. 9 backward calls watched, 2 of 2 parameters trained.")


def test_updates_that_make_new_parameters_are_said_not_to_be_followed() -> None:
    with whygrad.watch() as watching:
        slope: Any = torch.ones(3, requires_grad=True)
        for _ in range(9):
            (change,) = torch.autograd.grad((slope * torch.randn(3)).pow(2).sum(), [slope])
            slope = (slope - 0.1 * change).detach().requires_grad_()
    (gap,) = watching.report.gaps
    assert gap.what.startswith("9 backward calls, and neither an optimizer step nor a write into parameters was seen")
    assert "are not followed" in gap.do


def test_gradients_that_nobody_differentiated_for_are_a_gap() -> None:
    loop = Loop()
    with whygrad.watch() as watching, torch.no_grad():
        for _ in range(30):
            for weights in loop.line.parameters():
                noise = torch.randn_like(weights)
                weights.add_(noise, alpha=0.1)
                better = loop.loss()
                weights.sub_(noise, alpha=0.2)
                worse = loop.loss()
                weights.add_(noise, alpha=0.1)
                weights.grad = (better - worse) / 0.2 * noise
            loop.optimizer.step()
    assert gaps(watching.report) == [
        "no loss was differentiated in this process; the gradients of 30 optimizer steps were put there by hand"
    ]


# -- how it is watched


def test_a_coroutine_is_watched_while_it_is_awaited() -> None:
    loop = Loop()

    @whygrad.watch()
    async def train(times: int) -> str:
        for _ in range(times):
            await asyncio.sleep(0)
            loop.update()
        return "done"

    assert asyncio.run(train(7)) == "done"
    report: Report = train.report  # type: ignore[attr-defined]
    assert (report.verdict, report.updates) == ("healthy", 7)


@pytest.mark.parametrize("taken", [7, 4])
def test_a_generator_is_watched_while_it_is_gone_through(taken: int) -> None:
    loop = Loop()

    @whygrad.watch()
    def train() -> Iterator[int]:
        for number in range(7):
            loop.update()
            yield number

    going = train()
    assert [next(going) for _ in range(taken)] == list(range(taken))
    going.close() if taken < 7 else list(going)  # type: ignore[attr-defined]
    report: Report = train.report  # type: ignore[attr-defined]
    assert (report.verdict, report.updates) == ("healthy", taken)


def test_an_asynchronous_generator_is_refused() -> None:
    async def train() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(TypeError, match=r"put `with whygrad.watch\(\)` inside it"):
        whygrad.watch()(train)


@pytest.mark.parametrize(("after", "said"), [(0, 0), (3, 1)])
def test_a_report_that_is_read_inside_ends_the_watching_and_says_so(after: int, said: int) -> None:
    loop = Loop()
    with whygrad.watch() as watching:
        for _ in range(6):
            loop.update()
        assert watching.report.verdict == "healthy"
        for _ in range(after):
            loop.update()
    loop.update()
    assert (
        gaps(watching.report)
        == ["the report was read inside the block, which ended the watching, and the training went on"] * said
    )


def test_json_says_who_is_trained(tmp_path: Path) -> None:
    write(tmp_path, "train.py", HEALTHY)
    command(tmp_path, "run", "--json", "out.json", "train.py")
    rows = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["parameters"]
    assert {row["trained"] for row in rows} == {True}
