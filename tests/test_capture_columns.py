"""Places in the source: the exact expression, in characters, whatever the text around it."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import whygrad
from whygrad.finding import Finding
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


HEAD = """
import torch
from torch import nn

netz, kopf = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*netz.parameters(), *kopf.parameters()], lr=0.1)
for _ in range(3):
"""
TAIL = """
    optimizer.zero_grad()
    verlust.backward()
    optimizer.step()
"""


def found(body: str, folder: Path) -> tuple[Finding, list[str]]:
    file = folder / "quelle.py"
    file.write_text(HEAD + body + TAIL, encoding="utf-8")
    with whygrad.watch() as watching:
        exec(compile(HEAD + body + TAIL, str(file), "exec"), {"__name__": "__main__"})
    (finding,) = watching.report.loud
    return finding, file.read_text(encoding="utf-8").splitlines()


CUT = {
    "ascii": "    verlust = kopf(netz(torch.randn(8, 4)).detach()).pow(2).mean()",
    "umlauts before": "    größe = 'äöüß'; verlust = kopf(netz(torch.randn(8, 4)).detach()).pow(2).mean()",
    "wide letters": "    '報酬の勾配'; verlust = kopf(netz(torch.randn(8, 4)).detach()).pow(2).mean()",
    "beyond the basic plane": "    '🙂🙂'; verlust = kopf(netz(torch.randn(8, 4)).detach()).pow(2).mean()  # 🙃",
    "tab": "    verlust\t=\tkopf(netz(torch.randn(8, 4)).detach()).pow(2).mean()",
}


@pytest.mark.parametrize("name", CUT)
def test_columns_count_characters(name: str, tmp_path: Path) -> None:
    finding, rows = found(CUT[name], tmp_path)
    assert finding.code == "WG103"
    assert finding.site is not None
    assert finding.site.line == finding.site.end_line
    assert rows[finding.site.line - 1][finding.site.col : finding.site.end_col] == "netz(torch.randn(8, 4)).detach()"


def test_non_ascii_names_are_kept(tmp_path: Path) -> None:
    finding, _ = found("    größe = netz(torch.randn(8, 4)).detach(); verlust = kopf(größe).pow(2).mean()", tmp_path)
    assert "netz" in finding.message
    assert sorted(finding.parameters) == ["netz.bias", "netz.weight"]


def test_expression_over_several_lines(tmp_path: Path) -> None:
    lines = ["    verlust = kopf(", "netz(  # ünïcode", "torch.randn(8, 4)", ").detach()", ").pow(2).mean()"]
    finding, rows = found("\n".join(lines), tmp_path)
    assert finding.site is not None
    first, last = finding.site.line, finding.site.end_line
    assert rows[first - 1][finding.site.col :].startswith(("netz(", "detach()"))
    assert rows[last - 1][: finding.site.end_col].endswith(").detach()")


def test_source_that_is_gone(tmp_path: Path) -> None:
    code = HEAD + CUT["umlauts before"] + TAIL
    with whygrad.watch() as watching:
        exec(compile(code, str(tmp_path / "nie_geschrieben.py"), "exec"), {"__name__": "__main__"})
    (finding,) = watching.report.loud
    assert finding.code == "WG103"
    assert finding.site is not None
    assert finding.site.line == 8
