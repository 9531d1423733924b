"""Whole scripts end to end: broken ones are detected and located, repaired and tricky ones stay silent.

A folder in `scripts/` is a case: `bad.py` marks its culprit lines with `# <- culprit`, `good.py` is
its repaired twin, `case.toml` lists the codes that are fair. A trap has only a `good.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parent / "scripts"
MARK = "# <- culprit"
RUNS = sorted((file.parent.name, file.name) for file in SCRIPTS.glob("*/*.py") if file.name in ("bad.py", "good.py"))


def culprits(folder: Path) -> set[tuple[str, int]]:
    return {
        (file.name, number)
        for file in folder.glob("*.py")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if line.rstrip().endswith(MARK)
    }


def watched(case: str, script: str, scratch: Path) -> list[dict[str, Any]]:
    """The loud findings of one script, run in a copy of its folder."""
    work = scratch / f"{case}-{script}"
    shutil.copytree(SCRIPTS / case, work)
    command = [sys.executable, "-m", "whygrad", "run", "--json", "report.json", script]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=120, env=environment, check=False)
    report = json.loads((work / "report.json").read_text(encoding="utf-8"))
    assert report["limits"] == []
    return [f for f in report["findings"] if f["severity"] in ("error", "warning") and not f["suppressed"]]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All scripts, two at a time: most of a run is importing torch."""
    scratch = tmp_path_factory.mktemp("scripts")
    with ThreadPoolExecutor(2) as pool:
        started: dict[tuple[str, str], Future[list[dict[str, Any]]]] = {
            run: pool.submit(watched, *run, scratch) for run in RUNS
        }
        yield started


@pytest.mark.parametrize("case", [case for case, script in RUNS if script == "bad.py"])
def test_broken_script_is_located(case: str, runs: dict[tuple[str, str], Future[list[dict[str, Any]]]]) -> None:
    fair = tomllib.loads((SCRIPTS / case / "case.toml").read_text(encoding="utf-8"))["expect"]
    found = runs[case, "bad.py"].result()
    places = {(Path(f["span"]["file"]).name, f["span"]["line"]) for f in found if f["code"] in fair}
    assert places & culprits(SCRIPTS / case), [(f["code"], f["span"]["line"], f["message"]) for f in found]
    assert [f["code"] for f in found if f["severity"] == "error" and f["code"] not in fair] == []


@pytest.mark.parametrize("case", [case for case, script in RUNS if script == "good.py"])
def test_healthy_script_is_left_alone(case: str, runs: dict[tuple[str, str], Future[list[dict[str, Any]]]]) -> None:
    assert [(f["code"], f["span"]["line"], f["message"]) for f in runs[case, "good.py"].result()] == []
