"""Messages are the product: each rule's whole text for its own bad example, at 100 columns.

`python tests/test_messages.py` writes the snapshots anew; read the difference before you keep it.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import pytest
import torch

import whygrad
from test_rule_examples import UNTESTABLE_HERE, blocks
from whygrad.report.text import plain
from whygrad.rule import Rule, rules

SNAPSHOTS = Path(__file__).parent / "snapshots"
SHOWN = [rule for rule in rules().values() if rule.code not in UNTESTABLE_HERE]


def rendered(rule: Rule, folder: Path) -> str:
    code = blocks(rule)["bad"]
    file = folder / "train.py"
    file.write_text(code, encoding="utf-8")
    torch.manual_seed(0)
    with whygrad.watch() as watching:
        try:
            exec(compile(code, str(file), "exec"), {"__name__": "__main__"})
        except RuntimeError:
            watching.stop(sys.exception())
    return plain(watching.report).replace(f"{folder}/", "") + "\n"


def stable(text: str) -> str:
    """Without measured numbers: their last digits depend on the processor."""
    return re.sub(r"-?\d+(\.\d+)?(e[+-]\d+|%)|-?\d+\.\d+", "#", text)


@pytest.mark.parametrize("rule", SHOWN, ids=lambda r: r.code)
def test_message(rule: Rule, tmp_path: Path) -> None:
    text = rendered(rule, tmp_path)
    assert stable(text) == stable((SNAPSHOTS / f"{rule.code}.txt").read_text(encoding="utf-8"))
    code_rows = [row for row in text.splitlines() if not row.lstrip("0123456789. ").startswith("|")]
    assert max(len(row) for row in code_rows if not row.startswith("whygrad:")) <= 100


if __name__ == "__main__":
    SNAPSHOTS.mkdir(exist_ok=True)
    for shown in SHOWN:
        with tempfile.TemporaryDirectory() as scratch:
            (SNAPSHOTS / f"{shown.code}.txt").write_text(rendered(shown, Path(scratch)), encoding="utf-8")
