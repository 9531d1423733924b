"""Child processes are not watched, and what they do is not passed over in silence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import whygrad
from whygrad.capture.forks import Forks
from whygrad.trace.children import Children

TRAINING = """
import sys
import torch

def train(_=0):
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        loss = net(torch.ones(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def nudge(_=0):
    slope = torch.nn.Parameter(torch.ones(4))
    for _ in range(6):
        (slope * 2.0).pow(2).sum().backward()
        with torch.no_grad():
            slope -= 0.01 * slope.grad
        slope.grad = None

def act(_=0):
    torch.ones(3).sum()
"""
MAIN = """
if __name__ == "__main__":
    torch.set_num_threads(1)
    import torch.multiprocessing as mp
    {first}
    context = mp.get_context("{method}")
    workers = [context.Process(target={work}, args=(n,)) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
"""


def run(folder: Path, source: str, *options: str) -> tuple[int, dict[str, object]]:
    (folder / "train.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "whygrad", "run", *options, "--json", "report.json", "train.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    report: dict[str, object] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return done.returncode, report


def missing(report: dict[str, object]) -> list[str]:
    gaps = report["missing"]
    assert isinstance(gaps, list)
    return [gap["what"] for gap in gaps]


@pytest.mark.parametrize("first", ["pass", "train()"])
def test_a_forked_child_that_trains_is_counted(tmp_path: Path, first: str) -> None:
    source = TRAINING + MAIN.format(first=first, method="fork", work="train")
    status, report = run(tmp_path, source, "--fail-on", "incomplete")
    assert (status, report["verdict"]) == (1, "incomplete")
    assert missing(report) == ["training happens in 2 child processes, and only this process is watched"]


def test_a_forked_child_that_trains_without_an_optimizer_is_counted(tmp_path: Path) -> None:
    _, report = run(tmp_path, TRAINING + MAIN.format(first="train()", method="fork", work="nudge"))
    assert missing(report) == ["training happens in 2 child processes, and only this process is watched"]


def test_children_of_a_fork_server_are_not_passed_over(tmp_path: Path) -> None:
    _, report = run(tmp_path, TRAINING + MAIN.format(first="pass", method="forkserver", work="train"))
    (what,) = missing(report)
    assert "in this process; its child processes " in what
    assert what.endswith(", and are not watched")


def test_a_launcher_that_fails_says_that_its_children_are_not_watched(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(TRAINING + "\ntrain()\nraise SystemExit(3)\n", encoding="utf-8")
    _, report = run(tmp_path, "import subprocess, sys\nsubprocess.run([sys.executable, 'other.py'], check=True)\n")
    (what,) = [said for said in missing(report) if "CalledProcessError" in said]
    assert what.endswith(", and are not watched")


def test_a_forked_child_that_only_acts_is_no_gap(tmp_path: Path) -> None:
    status, report = run(tmp_path, TRAINING + MAIN.format(first="train()", method="fork", work="act"))
    assert (status, report["verdict"]) == (0, "healthy")


def test_training_in_fresh_processes_only(tmp_path: Path) -> None:
    _, report = run(tmp_path, TRAINING + MAIN.format(first="pass", method="spawn", work="train"))
    assert report["verdict"] == "incomplete"
    (what,) = missing(report)
    assert what.startswith("no backward() and no optimizer step was seen in this process; its child processes took ")


@pytest.mark.parametrize(("seconds", "said"), [(3.0, 0), (60.0, 1)])
def test_what_others_did_for_long_beside_the_training_is_said_to_be_unknown(
    monkeypatch: pytest.MonkeyPatch, seconds: float, said: int
) -> None:
    namespace: dict[str, Any] = {}
    exec(TRAINING, namespace)
    with whygrad.watch() as watching:
        namespace["train"]()
        monkeypatch.setattr(Forks, "found", lambda _: Children(0, seconds))
    assert watching.report.verdict == "healthy"
    assert [limit for limit in watching.report.limits if "what others do is not seen" in limit] == [
        f"child processes took {seconds:.1f} s of processor time; no forked one trained, and what others do is not seen"
    ] * said


def test_a_launcher_is_told_to_step_aside(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(TRAINING + "\ntrain()\n", encoding="utf-8")
    _, report = run(tmp_path, "import subprocess, sys\nsubprocess.run([sys.executable, 'other.py'], check=True)\n")
    assert report["verdict"] == "incomplete"
    (what,) = missing(report)
    assert "the processes that it started are not watched" in what
