"""Whole training scripts, probed on the command line as their authors would: right ones pass, and with one line changed
they fail exactly the probe for it.

Takes some minutes: `make test-thorough`.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from whygrad.cli.main import main

SCRIPTS = Path(__file__).parent.parent / "probe_scripts"
ORDER = ["WG901", "WG902", "WG903", "WG904", "WG905", "WG906", "WG907"]
SETTINGS = {
    "ppo.py": ("--gamma", "0.6", "--learning-rate", "3e-3"),
    "dqn.py": (
        *("--gamma", "0.6", "--learning-rate", "5e-3", "--learning-starts", "100"),
        *("--target-network-frequency", "50", "--exploration-steps", "1000"),
    ),
}


@dataclass(frozen=True)
class Bug:
    script: str
    right: str
    wrong: str
    code: str
    blamed: str = ""
    """What the report underlines, where a gradient finding explains the failure."""

    def __str__(self) -> str:
        return f"{self.code}-{self.script}"


BUGS = [
    Bug(
        "ppo.py",
        "ratio = (logprob - old_logprobs[rows]).exp()",
        "ratio = (logprob - old_logprobs[rows]).exp().detach()",
        "WG904",
        "likely cause, WG103",
    ),
    Bug("ppo.py", "next_values[step][torch.as_tensor(terminations", "next_values[step][torch.as_tensor(ended", "WG907"),
    Bug("dqn.py", "earned + args.gamma * best", "earned + best", "WG903"),
    Bug("dqn.py", " * best * (1 - over)", " * best", "WG906"),
]


Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def probed(script: str, until: str) -> tuple[int, dict[str, str]]:
    """The status, and the outcome of each probe."""
    only = [f"--only={code}" for code in ORDER if code <= until]
    status = main(
        ["probe", "--script", script, "--steps", "4000", *only, "--json", "out.json", "--", *SETTINGS[script]]
    )
    verdicts = json.loads(Path("out.json").read_text(encoding="utf-8"))["verdicts"]
    return status, {v["code"]: v["status"] for v in verdicts if v["probe"] not in ("Memory", "TwoAgents")}


@pytest.mark.parametrize("script", SETTINGS)
def test_a_right_script_passes(script: str, folder: Path, capsys: Captured) -> None:
    shutil.copy(SCRIPTS / script, folder)
    status, outcome = probed(script, ORDER[-1])
    assert status == 0, capsys.readouterr().out
    assert outcome == dict.fromkeys(ORDER, "pass")


@pytest.mark.parametrize("bug", BUGS, ids=str)
def test_one_wrong_line_fails_its_own_probe(bug: Bug, folder: Path, capsys: Captured) -> None:
    text = (SCRIPTS / bug.script).read_text(encoding="utf-8")
    assert text.count(bug.right) == 1
    (folder / bug.script).write_text(text.replace(bug.right, bug.wrong), encoding="utf-8")
    status, outcome = probed(bug.script, bug.code)
    out = capsys.readouterr().out
    assert status == 1, out
    assert [code for code, said in outcome.items() if said == "fail"] == [bug.code], out
    assert bug.blamed in out
    assert bug.wrong in out or not bug.blamed
