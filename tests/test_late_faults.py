"""A fault that begins long after the start, or ends long before the end, is found and dated."""

from __future__ import annotations

from pathlib import Path

import pytest

import whygrad
from whygrad.finding import Finding
from whygrad.report.model import Report

SCRIPT = """
import torch

torch.manual_seed(3)
body, head = torch.nn.Linear(6, 12), torch.nn.Linear(12, 3)
judge = torch.nn.Linear(6, 1)
learner = torch.optim.SGD([*body.parameters(), *head.parameters(), *judge.parameters()], lr=0.01)
for turn in range(TURNS):
    wrong = FROM <= turn < TO
    {before}
    seen = torch.randn(24, 6)
    features = torch.relu(body(seen))
    {features}
    choice = torch.distributions.Categorical(logits=head(features))
    taken = choice.sample()
    gained = (taken == seen[:, :3].argmax(1)).float()
    {gained}
    worth = judge(seen).squeeze(1)
    policy = -(choice.log_prob(taken) * (gained - gained.mean())).mean()
    {policy}
    total = policy + 0.5 * (worth - gained).pow(2).mean()
    {total}
    {clear}
    total.backward()
    {clip}
    learner.step()
"""
PLAIN = {
    "before": "",
    "features": "",
    "gained": "",
    "policy": "",
    "total": "",
    "clear": "learner.zero_grad()",
    "clip": "torch.nn.utils.clip_grad_norm_(body.parameters(), 10.0)",
}
FAULTS = {
    "not cleared": ("WG301", {"clear": "if not wrong: learner.zero_grad()"}),
    "features detached": ("WG103", {"features": "if wrong: features = features.detach()"}),
    "term rewrapped": ("WG102", {"policy": "if wrong: policy = torch.as_tensor(policy.detach().numpy().copy())"}),
    "rate of zero": ("WG309", {"before": "learner.param_groups[0]['lr'] = 0.0 if wrong else 0.01"}),
    "limit of zero": (
        "WG305",
        {"clip": "torch.nn.utils.clip_grad_norm_(body.parameters(), 0.0 if wrong else 10.0)"},
    ),
}
NOTED = {
    "left out": ("WG107", {"total": "if wrong: total = policy"}),
    "frozen": ("WG108", {"before": "body.requires_grad_(not wrong)"}),
}


def watched(folder: Path, changes: dict[str, str], turns: int, begin: int, end: int) -> Report:
    text = SCRIPT.format(**PLAIN | changes).replace("TURNS", str(turns))
    file = folder / "late.py"
    file.write_text(text.replace("FROM", str(begin)).replace("TO", str(end)))
    with whygrad.watch() as watching:
        exec(compile(file.read_text(), str(file), "exec"), {"__name__": "late"})
    return watching.report


def of(report: Report, code: str) -> Finding:
    (found,) = [finding for finding in report.findings if finding.code == code]
    return found


@pytest.mark.parametrize(("turns", "begin"), [(900, 300), (60, 30)])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_begins_late_is_found(fault: str, turns: int, begin: int, tmp_path: Path) -> None:
    code, changes = FAULTS[fault]
    report = watched(tmp_path, changes, turns, begin, turns)
    found = of(report, code)
    assert found.loud
    assert int(str(found.evidence.get("first_update", begin))) >= begin
    assert [f.code for f in report.loud] == [code]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_ended_early_is_still_said(fault: str, tmp_path: Path) -> None:
    code, changes = FAULTS[fault]
    short = watched(tmp_path, changes, 300, 0, 300)
    report = watched(tmp_path, changes, 900, 0, 300)
    assert of(short, code).loud
    found = of(report, code)
    assert found.site is not None
    assert found.site == of(short, code).site
    assert int(str(found.evidence["last_update"])) <= 301
    assert {f.code for f in report.loud} <= {code}


@pytest.mark.parametrize(("begin", "end", "said"), [(300, 900, "any more|by now"), (0, 300, "before update")])
@pytest.mark.parametrize("fault", NOTED)
def test_what_may_be_meant_is_a_dated_note(fault: str, begin: int, end: int, said: str, tmp_path: Path) -> None:
    code, changes = NOTED[fault]
    report = watched(tmp_path, changes, 900, begin, end)
    assert report.verdict == "healthy"
    notes = [f for f in report.findings if f.code == (code if begin else "WG107")]
    assert len(notes) == 1
    assert any(part in notes[0].message for part in said.split("|"))


@pytest.mark.parametrize("turns", [60, 900])
def test_without_a_fault_nothing_is_said(turns: int, tmp_path: Path) -> None:
    report = watched(tmp_path, {}, turns, 0, 0)
    assert (report.verdict, report.findings) == ("healthy", [])
