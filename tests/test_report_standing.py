"""How a loss term and a module stand to each other, by the examples of the rules themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

import whygrad
from test_rule_examples import blocks
from whygrad.finding import Finding
from whygrad.report.model import ZERO, MatrixCell, MatrixRow, ParameterRow, Report
from whygrad.report.standing import columns, concerned, owner, standings
from whygrad.rule import rules

CUT = ["WG101", "WG102", "WG103", "WG104", "WG105", "WG106", "WG108", "WG111", "WG112", "WG113"]
LEAK = ["WG201", "WG202", "WG203", "WG204", "WG205", "WG206"]
UNUSED = ["WG109", "WG110"]


def report(code: str, kind: str, folder: Path) -> Report:
    source = blocks(rules()[code])[kind]
    file = folder / f"{kind}_{code}.py"
    file.write_text(source, encoding="utf-8")
    torch.manual_seed(0)
    with whygrad.watch() as watching:
        try:
            exec(compile(source, str(file), "exec"), {"__name__": "__main__", "print": lambda *_: None})
        except RuntimeError:
            watching.stop(sys.exception())
    return watching.report


def marked(found: Report, state: str) -> list[tuple[str, ...]]:
    return [standing.codes for standing in standings(found).values() if standing.state == state]


@pytest.mark.parametrize("code", CUT)
def test_a_cut_is_missing_in_the_matrix_and_red_on_its_path(code: str, tmp_path: Path) -> None:
    found = report(code, "bad", tmp_path)
    assert marked(found, "missing") == [(code,)]
    (place,) = [key for key, standing in standings(found).items() if standing.state == "missing"]
    drawn = [c for c in found.chains if (c.row, c.module) == place and c.parameter in found.loud[0].parameters]
    assert drawn
    assert all(chain.gets_to for chain in drawn)
    assert {stop.code for chain in drawn for stop in chain.stops if stop.role == "cut"} == {code}


def test_a_network_that_no_loss_trains_is_missing_though_the_cut_is_meant(tmp_path: Path) -> None:
    found = report("WG107", "bad", tmp_path)
    assert marked(found, "missing") == [("WG107",)]
    assert not [stop for chain in found.chains for stop in chain.stops if stop.role == "cut"]


@pytest.mark.parametrize("code", LEAK)
def test_a_leak_is_marked_once(code: str, tmp_path: Path) -> None:
    found = report(code, "bad", tmp_path)
    assert marked(found, "leaking") == [(code,)]
    assert not marked(found, "missing")


@pytest.mark.parametrize("code", UNUSED)
def test_gradient_that_no_step_uses(code: str, tmp_path: Path) -> None:
    assert marked(report(code, "bad", tmp_path), "unused") == [(code,)]


@pytest.mark.parametrize("code", [*CUT, *LEAK])
def test_the_repaired_example_has_nothing_marked(code: str, tmp_path: Path) -> None:
    found = report(code, "good", tmp_path)
    assert not marked(found, "missing")
    assert not marked(found, "leaking")
    assert not [stop for chain in found.chains for stop in chain.stops if stop.role in ("cut", "leak")]


def test_a_module_that_no_loss_is_made_of_has_a_column() -> None:
    rows = [
        ParameterRow("net.0.weight", [2], "nonzero", [], [], True, "net"),
        ParameterRow("idle.weight", [2], "none", [], [], False, "idle"),
    ]
    found = Report(
        parameters=rows, matrix=[MatrixRow("loss", "", None, {"net": MatrixCell(1, 1, None, None, ["opt"], [])})]
    )
    found.findings = [
        Finding("WG107", "unused-in-loss", "warning", "idle is not trained", None, parameters=["idle.weight"])
    ]
    assert columns(found) == ["net", "idle"]
    assert [f.code for f in concerned(found)["idle"]] == ["WG107"]
    assert standings(found)[0, "idle"].state == "nothing"


def test_a_gradient_of_exactly_zero_is_neither_trained_nor_meant() -> None:
    found = Report(matrix=[MatrixRow("loss", "", None, not_reached={"net": ZERO, "target": "frozen"})])
    assert {module: s.state for (_, module), s in standings(found).items()} == {"net": "zero", "target": "constant"}


def test_the_innermost_module_owns_a_parameter() -> None:
    assert owner("agent.actor.0.weight", ["agent", "agent.actor"]) == "agent.actor"
    assert owner("agent.log_std", ["agent.log_std"]) == "agent.log_std"
    assert owner("agents.x", ["agent"]) == ""
    assert owner("nets[0].weight", ["nets"]) == "nets"
