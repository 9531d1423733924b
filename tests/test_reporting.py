"""Reports: stored, rendered again, and safe against whatever a name or a line contains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whygrad.finding import Finding, Label
from whygrad.report.concise import concise
from whygrad.report.json import ReportError, dumps, load
from whygrad.report.model import VERSION, LossRow, Report, UnhealthyError
from whygrad.report.text import plain
from whygrad.trace import Site
from whygrad.trace.gap import Gap

TEXT = st.text(max_size=80)
SITES = st.builds(
    Site,
    st.just("train.py"),
    st.integers(1, 400),
    st.integers(0, 90),
    st.integers(0, 400),
    st.integers(0, 90),
    st.sampled_from(["", "<module>", "Agent.update", "f.<locals>.g"]),
)
FINDINGS = st.builds(
    Finding,
    st.sampled_from(["WG101", "WG602"]),
    st.just("some-name"),
    st.sampled_from(["error", "warning", "note"]),
    TEXT,
    st.none() | SITES,
    TEXT,
    st.lists(st.builds(Label, SITES, TEXT), max_size=3),
    TEXT,
    TEXT,
    TEXT,
    TEXT,
    suppressed=st.booleans(),
)


def unhealthy() -> Report:
    site = Site("train.py", 3, 4, 3, 9, "update")
    return Report([Finding("WG103", "detached-path", "error", "net is not learning", site, "here")], updates=2, gaps=[])


@given(st.lists(FINDINGS, max_size=4), TEXT)
def test_any_report_renders_and_survives_storage(findings: list[Finding], line: str) -> None:
    report = Report(findings, source={"train.py": dict.fromkeys(range(1, 5), line)})
    assert plain(report)
    assert concise(report) or not findings
    stored = json.loads(dumps(report))
    assert len(stored["findings"]) == len(findings)


def test_a_stored_report_reads_back_the_same(tmp_path: Path) -> None:
    report = unhealthy()
    report.losses.append(LossRow("loss", Site("train.py", 9), "f(x)", {"net": "2/2"}, {}, ["opt.step :4"], ["a", "b"]))
    report.source = {"train.py": {3: "    y = x.detach()"}}
    file = tmp_path / "report.json"
    file.write_text(dumps(report), encoding="utf-8")
    again = load(file)
    assert plain(again) == plain(report)
    assert dumps(again) == dumps(report)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not a readable report"),
        ("[]", "not a whygrad report"),
        (json.dumps({"version": VERSION + 1}), "newer whygrad"),
        (json.dumps({"version": VERSION}), "damaged"),
    ],
)
def test_a_report_that_cannot_be_used_is_refused_in_a_sentence(content: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ReportError, match=says):
        load(file)


def test_truth_and_assertion() -> None:
    assert Report(gaps=[])
    Report(gaps=[]).assert_healthy()
    report = unhealthy()
    assert not report
    with pytest.raises(UnhealthyError, match="net is not learning"):
        report.assert_healthy()


def test_what_was_not_looked_at_is_not_healthy() -> None:
    for report in (Report(), Report(gaps=[Gap("rule WG101 failed", "please report it")], updates=3)):
        assert not report
        assert report.verdict == "incomplete"
        with pytest.raises(UnhealthyError, match="incomplete"):
            report.assert_healthy()


def test_suppressed_findings_stay_in_the_data_and_leave_the_text() -> None:
    report = unhealthy()
    report.findings[0].suppressed = True
    assert report
    assert "WG103" not in plain(report)
    assert "1 suppressed" in plain(report)
    assert json.loads(dumps(report))["findings"][0]["suppressed"] is True


def test_a_healthy_report_fits_on_ten_lines() -> None:
    rows = [
        LossRow(f"loss{n}", Site("a.py", n + 1), "", {"net": "2/2"}, {"target": "frozen"}, ["opt.step"])
        for n in range(30)
    ]
    report = Report(losses=rows, updates=250, gaps=[])
    text = plain(report).splitlines()
    assert len(text) < 10
    assert text[0].startswith("whygrad: healthy. 250 updates watched")
    assert max(len(line) for line in text) <= 120
