"""A run is called healthy only when all was looked at: every way to the verdict, and the exit status that follows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import whygrad
from cli_running import BROKEN, HEALTHY, WARNED, Ended, codes, python, stored, write
from cli_running import whygrad as command
from whygrad import UnhealthyError, engine
from whygrad.about import HOME
from whygrad.finding import Finding
from whygrad.report.model import Report
from whygrad.rule import rules
from whygrad.trace import Trace
from whygrad.trace.deadline import TimeUpError

ACTING = HEALTHY.replace("    loss.backward()\n    optimizer.step()\n", "")
PLUGIN = """
CODE, NAME = "WG999", "of a stranger"

def check(trace):
    {check}
    yield
"""
REPORT_FAILS = f"""
import whygrad.session

def broken(*_):
    raise RuntimeError("injected")

broken.__code__ = broken.__code__.replace(co_filename={HOME + "injected.py"!r})
whygrad.session.renamed = broken
"""


def train(cut: Callable[[torch.Tensor], torch.Tensor] = lambda out: out, *, after: Callable[..., Any] = id) -> Report:
    """Six updates of a layer; `cut` stands between its output and the loss."""
    torch.manual_seed(0)
    with whygrad.watch() as watching:
        first, second = nn.Linear(4, 4), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
        for _ in range(6):
            loss = second(cut(first(torch.randn(8, 4)))).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        after(second)
    return watching.report


def gaps(report: Report) -> str:
    return " | ".join(gap.what for gap in report.gaps)


def installed(folder: Path, name: str, source: str) -> dict[str, str]:
    """A plugin for the Python that is started with these variables."""
    write(folder, f"plugins/{name}.py", source)
    write(folder, f"plugins/{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    write(folder, f"plugins/{name}-1.0.dist-info/entry_points.txt", f"[whygrad.rules]\n{name} = {name}\n")
    return {"PYTHONPATH": str(folder / "plugins")}


def missing(folder: Path) -> str:
    return " | ".join(gap["what"] for gap in stored(folder)["missing"])


# -- in one process


def test_all_looked_at_and_nothing_found_is_healthy() -> None:
    report = train()
    assert (report.verdict, report.gaps) == ("healthy", [])
    report.assert_healthy()


def failing(code: str, kind: type[Exception] = ZeroDivisionError) -> dict[str, Any]:
    def check(_: Trace) -> Iterable[Finding]:
        raise kind("injected")

    return {n: dataclasses.replace(rule, check=check) if n == code else rule for n, rule in rules().items()}


def test_a_rule_that_fails_makes_it_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "rules", lambda: failing("WG405"))
    report = train()
    assert report.verdict == "incomplete"
    assert "rule WG405 failed (ZeroDivisionError: injected)" in gaps(report)
    assert "in check" in report.gaps[0].detail
    with pytest.raises(UnhealthyError, match="WG405 failed"):
        report.assert_healthy()


def test_a_rule_that_fails_takes_no_other_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "rules", lambda: failing("WG405"))
    report = train(torch.Tensor.detach)
    assert (report.verdict, [finding.code for finding in report.loud]) == ("findings", ["WG103"])
    assert "rule WG405 failed" in gaps(report)


def test_time_that_was_too_short_makes_it_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "rules", lambda: failing("WG405", TimeUpError))
    report = train()
    assert report.verdict == "incomplete"
    assert "the time for the report was over before WG405 had looked" in gaps(report)


def test_weights_that_are_not_finite_at_the_end_are_not_healthy() -> None:
    report = train(after=lambda layer: nn.init.constant_(layer.bias, math.nan))
    assert report.verdict == "incomplete"
    assert "not finite" in gaps(report)


@pytest.mark.parametrize("used", [False, True])
def test_where_nothing_was_trained_nothing_is_healthy(used: bool) -> None:
    with whygrad.watch() as watching:
        if used:
            nn.Linear(2, 1)(torch.ones(2)).sum().backward()
    report = watching.report
    assert report.verdict == "incomplete"
    assert ("nothing was trained" if used else "no backward() and no optimizer step") in gaps(report)
    with pytest.raises(UnhealthyError, match="incomplete"):
        report.assert_healthy()


def test_steps_that_no_parameter_had_a_gradient_for_are_no_training() -> None:
    with whygrad.watch() as watching:
        layer = nn.Linear(2, 1).requires_grad_(False)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.step()
    assert watching.report.verdict != "healthy"


def test_an_error_that_ends_the_block_is_not_healthy() -> None:
    with pytest.raises(KeyError, match="the script's own"), whygrad.watch() as watching:
        raise KeyError("the script's own")
    assert watching.report.verdict == "incomplete"
    assert "ended with KeyError" in gaps(watching.report)


# -- in a process of its own


@pytest.mark.parametrize("flag", ["-O", "-OO"])
def test_without_assertions_and_docstrings_as_much_is_seen(flag: str, tmp_path: Path) -> None:
    write(tmp_path, "broken.py", BROKEN)
    write(tmp_path, "healthy.py", HEALTHY)
    done = python(tmp_path, flag, "-m", "whygrad", "run", "broken.py")
    assert (done.status, codes(stored(tmp_path))) == (1, ["WG101"])
    done = python(tmp_path, flag, "-m", "whygrad", "run", "--fail-on", "incomplete", "healthy.py")
    assert (done.status, stored(tmp_path)["verdict"]) == (0, "healthy"), done.err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import nothing_like_it", "could not be loaded (ModuleNotFoundError"),
        ("import sys; sys.exit('no')", "could not be loaded (SystemExit: no)"),
        ("CODE = 'WG999'", "could not be loaded (AttributeError"),
        (PLUGIN.format(check="raise OSError('no')"), "rule WG999 failed (OSError: no)"),
        (PLUGIN.format(check="raise SystemExit(2)"), "rule WG999 failed (SystemExit: 2)"),
    ],
)
def test_a_plugin_that_fails_is_named_and_makes_it_incomplete(source: str, said: str, tmp_path: Path) -> None:
    write(tmp_path, "train.py", HEALTHY)
    env = installed(tmp_path, "stranger", source)
    done = command(tmp_path, "run", "--fail-on", "incomplete", "train.py", env=env)
    assert (done.status, stored(tmp_path)["verdict"]) == (1, "incomplete"), done.err
    assert said in missing(tmp_path)
    assert "stranger" in missing(tmp_path) or "WG999" in missing(tmp_path)


def test_a_plugin_that_works_changes_no_verdict(tmp_path: Path) -> None:
    write(tmp_path, "train.py", HEALTHY)
    env = installed(tmp_path, "stranger", PLUGIN.format(check="return"))
    done = command(tmp_path, "run", "--fail-on", "incomplete", "train.py", env=env)
    assert (done.status, stored(tmp_path)["verdict"]) == (0, "healthy"), done.err


@pytest.mark.parametrize(("level", "status"), [("error", 0), ("incomplete", 1)])
def test_a_report_that_fails_altogether_leaves_the_script_its_end(level: str, status: int, tmp_path: Path) -> None:
    write(tmp_path, "train.py", HEALTHY + "print('done')\n")
    env = installed(tmp_path, "stranger", REPORT_FAILS + PLUGIN.format(check="return"))
    done = command(tmp_path, "run", "--fail-on", level, "train.py", env=env)
    said = "whygrad: internal error, there is no report of this run (RuntimeError: injected)\n"
    assert done == Ended(status, "done\n", said)


def test_a_report_that_fails_altogether_keeps_no_exception_of_the_scripts(tmp_path: Path) -> None:
    write(tmp_path, "train.py", HEALTHY + "raise KeyError('its own')\n")
    env = installed(tmp_path, "stranger", REPORT_FAILS + PLUGIN.format(check="return"))
    done = command(tmp_path, "run", "train.py", env=env)
    assert done.status == 1
    assert done.err.endswith("KeyError: 'its own'\n")


@pytest.mark.parametrize(
    ("source", "verdict", "level", "status"),
    [
        (HEALTHY, "healthy", "incomplete", 0),
        (ACTING, "incomplete", "incomplete", 1),
        (ACTING, "incomplete", "warning", 0),
        (WARNED, "findings", "incomplete", 1),
        (WARNED, "findings", "warning", 1),
        (WARNED, "findings", "error", 0),
        (BROKEN, "findings", "error", 1),
        (BROKEN, "findings", "never", 0),
        (HEALTHY + "raise SystemExit(7)\n", "incomplete", "incomplete", 7),
        (HEALTHY + "raise SystemExit\n", "healthy", "incomplete", 0),
        (BROKEN + "raise SystemExit(7)\n", "findings", "never", 7),
    ],
)
def test_the_status_follows_the_verdict(source: str, verdict: str, level: str, status: int, tmp_path: Path) -> None:
    write(tmp_path, "train.py", source)
    done = command(tmp_path, "run", "--fail-on", level, "train.py")
    assert (stored(tmp_path)["verdict"], done.status) == (verdict, status), done.err
