"""Stored reports that hold anything: shown, or refused in one line; never a traceback."""

from __future__ import annotations

import contextlib
import json
import os
import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whygrad
from hostile_files import COUNT, Rewritten, Terminal, file, harmless
from mutations import documents, worsened
from test_cli_other import one_line, own
from whygrad import fields
from whygrad.fields import FieldError
from whygrad.finding import Finding
from whygrad.report import stored, table
from whygrad.report.chains import Chain, Stop
from whygrad.report.concise import concise
from whygrad.report.flow import NoTelemetryError
from whygrad.report.html.page import page
from whygrad.report.json import MOST_BYTES, ReportError, dumps, load
from whygrad.report.model import MatrixCell, MatrixRow, ParameterRow, Report
from whygrad.report.text import flat, plain, show
from whygrad.telemetry.histogram import Histogram
from whygrad.telemetry.phases import Phase
from whygrad.telemetry.summary import Summary

__all__ = ["file"]
Captured = pytest.CaptureFixture[str]
SCRIPT = """\
import torch

policy, critic = torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 1, bias=False)
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()])
for _ in range(4):
    states = torch.randn(4, 2)
    dist = torch.distributions.Categorical(logits=policy(states))
    log_probs = torch.nn.Parameter(dist.log_prob(dist.sample()))
    values = critic(states).squeeze(-1)
    loss = -(log_probs * torch.randn(4)).mean() + (values - torch.randn(4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(critic.parameters(), 0.5)
    optimizer.step()
"""
"""A policy whose log-probabilities are copied beside a critic that learns: every section of the page has content."""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The stored report of a real run."""
    file = tmp_path_factory.mktemp("real") / "train.py"
    file.write_text(SCRIPT, encoding="utf-8")
    with whygrad.watch(budget=100) as watching:
        exec(compile(SCRIPT, str(file), "exec"), {"__name__": "hostile"})
    report = watching.report
    report.script, report.arguments = "train.py --seed 1", ["--seed", "1"]
    assert report.loud
    assert report.chains
    assert report.rounds
    assert report.listings
    assert report.telemetry is not None
    assert report.telemetry.phases
    return dumps(report)


def _containers(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    keys = st.sampled_from(["version", "findings", "bins", "file", "line", "layers", "first", "zeros", "1"]) | st.text()
    return st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4)


def drawing(report: Report) -> str:
    try:
        return report.plot().svg
    except NoTelemetryError:
        return ""


def test_ten_thousand_damaged_reports_are_shown_in_every_form_or_refused(real: str, file: Rewritten) -> None:
    terminal, refusals = Terminal(), list[str]()
    shown = 0
    for content in documents(real, COUNT, seed=1):
        file.write(content)
        try:
            report = load(file.path)
        except ReportError as error:
            refusals.append(str(error))
            continue
        shown += 1
        if shown % 10 == 0:  # Colours are laid over the same lines.
            show(report, terminal.console)
            assert harmless(terminal.printed())
        assert harmless(plain(report))
        assert harmless(flat(table.whole(report)))
        assert harmless(concise(report))
        assert harmless(page(report))
        assert harmless(drawing(report))
        assert dumps(report).isascii()
    assert shown + len(refusals) == COUNT
    assert min(shown, len(refusals)) > COUNT // 10
    assert all(said.startswith(str(file.path)) and len(said) < 400 for said in refusals)


def test_what_is_shown_of_a_damaged_report_reads_back(real: str, file: Rewritten) -> None:
    """The JSON of what was understood is a report again, and its drawing is a drawing."""
    read_back = 0
    for content in documents(real, 300, seed=2):
        file.write(content)
        try:
            written = dumps(load(file.path))
        except ReportError:
            continue
        file.write(written.encode())
        again = load(file.path)
        assert dumps(again) == written
        if svg := drawing(again):
            assert ElementTree.fromstring(svg).tag.endswith("svg")
        read_back += 1
    assert read_back > 30


def test_the_commands_end_in_a_status_and_a_line(real: str, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "\x1b[31mreport.json"
    chance, statuses = random.Random(3), set()
    forms = [["report"], ["report", "--format", "concise"], ["report", "--format", "json"], ["report", "--matrix"]]
    forms += [["report", "--html", str(tmp_path / "out.html")], ["plot", "-o", str(tmp_path / "out.svg")]]
    for content in documents(real, 120, seed=3):
        file.write_bytes(content)
        done = own(capsys, *chance.choice(forms), str(file))
        statuses.add(done.status)
        assert harmless(done.out + done.err)
        if done.status == 2:
            assert done.out == ""
            assert one_line(done.err)
    assert statuses == {0, 1, 2}


@pytest.mark.parametrize("arguments", [["report"], ["plot", "-o", "out.svg"]])
@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "loop", "large", "unreadable"])
def test_what_is_no_file_is_refused_at_once(
    kind: str, arguments: list[str], tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = {"device": Path("/dev/zero")}.get(kind, tmp_path / "given")
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "large":
        with path.open("wb") as stream:
            stream.truncate(MOST_BYTES + 1)
    elif kind == "unreadable":
        path.write_bytes(b"\xff\xfe{}")
    done = own(capsys, *arguments, str(path))
    assert (done.status, done.out) == (2, "")
    assert str(path) in one_line(done.err)


def test_a_caret_stays_on_its_line_whatever_the_columns_say(real: str, file: Rewritten) -> None:
    data = json.loads(real)
    span = data["findings"][0]["span"]
    for col, end in ((10**9, 10**9), (0, 10**9), (10**9, 0)):
        span |= {"col": col, "end_col": end}
        file.write(json.dumps(data).encode())
        report = load(file.path)
        text = flat([*table.whole(report)]) + concise(report) + page(report)
        assert len(text) < 200_000
        assert dumps(report).count(str(10**9)) >= 1


def test_a_report_of_another_version_has_more_keys_or_fewer(real: str, file: Rewritten) -> None:
    """A7: one additional key was enough to call a report damaged."""
    data = json.loads(real)
    file.write(real.encode())
    same = load(file.path)
    for holder in (data, data["findings"][0], data["findings"][0]["span"], data["parameters"][0], data["matrix"][0]):
        holder["of a later version"] = {"anything": [1]}
    for key in ("rounds", "seconds", "python"):
        del data[key]
    del data["parameters"][0]["held_by"]
    file.write(json.dumps(data).encode())
    report = load(file.path)
    assert (report.findings, report.matrix) == (same.findings, same.matrix)
    assert (report.rounds, report.seconds, report.parameters[0].held_by) == ([], 0.0, [])


def test_what_our_own_reports_may_hold_is_no_damage(file: Rewritten) -> None:
    """Norms that are no number, dimensions that TensorFlow does not know, evidence of any form."""
    none = float("nan")
    row = MatrixRow("loss", "", None, {"net": MatrixCell(1, 1, none, none, [], [])}, {"net": {"other": none}})
    finding = Finding("WG505", "non-finite", "error", "m", None, evidence={"value": float("inf"), "shapes": [[1], []]})
    report = Report([finding], [ParameterRow("net.w", [-1, 4], "nan", [], [], False)], matrix=[row])
    report.chains = [Chain(0, "net", "net.w", [Stop("net.w", shape=(-1, 4), role="parameter")])]
    file.write(dumps(report).encode())
    again = load(file.path)
    assert dumps(again) == dumps(report)
    assert "nan" in page(again)
    assert "nan" in flat(table.whole(again))


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), _containers, max_leaves=30))
def test_any_data_is_decoded_or_refused_by_name(value: object) -> None:
    for decode in (stored.report, stored.site, Summary.from_json, Histogram.from_json, Phase.from_json):
        with contextlib.suppress(FieldError):
            decode(value)
    assert fields.plain(value) is value


def test_damage_upon_damage_is_shown_or_refused(real: str) -> None:
    """What is harmless by itself may not be together."""
    understood = 0
    for seed in range(3):
        for number, data in enumerate(worsened(real, 120, seed, accepted)):
            understood += 1
            if number % 10 == 0:
                report = stored.report(data)
                forms = [plain(report), concise(report), flat(table.whole(report)), page(report), drawing(report)]
                assert all(harmless(form) for form in forms)
    assert understood > 100


def accepted(data: object) -> bool:
    try:
        stored.report(data)
    except FieldError:
        return False
    return True
