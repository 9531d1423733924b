"""Every rule's page is its test: its bad block yields its code alone, its good block nothing from any rule."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch

import whygrad
from whygrad.finding import Finding
from whygrad.rule import Rule, rules

BLOCK = re.compile(r"```python (bad|good)\n(.*?)```", re.DOTALL)
UNTESTABLE_HERE = {"WG605"}
"""Needs a second device."""
NOTING = {"WG508"}
"""Rules that have nothing to say but notes."""


def blocks(rule: Rule) -> dict[str, str]:
    return dict(BLOCK.findall(rule.documentation))


def reported(code: str, folder: Path, name: str) -> list[Finding]:
    file = folder / f"{name}.py"
    file.write_text(code, encoding="utf-8")
    torch.manual_seed(0)
    with whygrad.watch() as watching:
        try:
            exec(compile(code, str(file), "exec"), {"__name__": "__main__", "print": lambda *_: None})
        except RuntimeError:
            watching.stop(sys.exception())
    return [finding for finding in watching.report.findings if not finding.suppressed]


def findings(code: str, folder: Path, name: str) -> list[Finding]:
    return [finding for finding in reported(code, folder, name) if finding.loud]


@pytest.mark.parametrize("rule", [r for r in rules().values() if r.code not in UNTESTABLE_HERE], ids=lambda r: r.code)
def test_bad_block_yields_its_code_on_the_marked_line(rule: Rule, tmp_path: Path) -> None:
    code = blocks(rule)["bad"]
    marked = [n for n, line in enumerate(code.splitlines(), 1) if line.endswith(f"# {rule.code}")]
    found = [f for f in reported(code, tmp_path, f"bad_{rule.code}") if f.loud or f.code in NOTING]
    assert [f.code for f in found] == [rule.code]
    assert found[0].site is not None
    assert [found[0].site.line] == marked


@pytest.mark.parametrize("rule", [r for r in rules().values() if r.code not in UNTESTABLE_HERE], ids=lambda r: r.code)
def test_good_block_yields_nothing(rule: Rule, tmp_path: Path) -> None:
    found = reported(blocks(rule)["good"], tmp_path, f"good_{rule.code}")
    assert [f.code for f in found if f.loud or f.code in NOTING] == []


@pytest.mark.parametrize("rule", rules().values(), ids=lambda r: r.code)
def test_page_has_a_summary_and_a_way_out(rule: Rule) -> None:
    assert 20 < len(rule.summary) <= 110
    assert rule.summary.endswith(".")
    assert len(rule.documentation.split("\n\n")) >= 3
