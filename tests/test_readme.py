"""What the README shows is what a newcomer sees, and importing whygrad is light."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = Path("examples") / "dqn_corridor.py"


PPO = ROOT / "benchmarks" / "healthy" / "ppo.py"


def said(folder: Path, status: int, script: Path = EXAMPLE) -> str:
    command = [sys.executable, "-W", "ignore", "-m", "whygrad", "run", str(script)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == status, done.stderr
    return done.stderr


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    (tmp_path / "examples").mkdir()
    (tmp_path / EXAMPLE).write_text((ROOT / EXAMPLE).read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def test_the_broken_example_says_what_the_readme_shows(copied: Path) -> None:
    finding = said(copied, 1).split("\n\n")[0]
    assert finding.startswith("error[WG101]")
    assert finding in README


def test_the_repaired_example_says_what_the_readme_shows(copied: Path) -> None:
    file = copied / EXAMPLE
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    assert "torch.tensor(loss" in lines[62]
    file.write_text("".join(lines[:62] + lines[63:]), encoding="utf-8")
    text = said(copied, 0).strip()
    assert text.startswith("whygrad: healthy.")
    assert text in README


def test_the_healthy_ppo_says_what_the_readme_shows(tmp_path: Path) -> None:
    shown = re.sub(r"\d+%", "#", said(tmp_path, 0, PPO).strip())
    assert shown.startswith("whygrad: healthy.")
    assert shown in re.sub(r"\d+%", "#", README)


def test_importing_whygrad_imports_neither_torch_nor_rich_and_is_quick() -> None:
    code = (
        "import sys, time; start = time.perf_counter(); import whygrad; "
        "print(time.perf_counter() - start, 'torch' in sys.modules, 'rich' in sys.modules)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(3)
    ]
    assert all(run[1:] == ["False", "False"] for run in runs)
    assert min(float(run[0]) for run in runs) < 0.1
