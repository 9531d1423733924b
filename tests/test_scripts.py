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
from queue import Queue
from typing import Any

import pytest

SCRIPTS = Path(__file__).parent / "scripts"
MARK = "# <- culprit"
AT_ONCE = 2
RUNS = sorted((file.parent.name, file.name) for file in SCRIPTS.glob("*/*.py") if file.name in ("bad.py", "good.py"))


def culprits(folder: Path) -> set[tuple[str, int]]:
    return {
        (file.name, number)
        for file in folder.glob("*.py")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if line.rstrip().endswith(MARK)
    }


class Nursery:
    """A process with torch imported, which forks one child per script."""

    def __init__(self) -> None:
        command = [sys.executable, str(Path(__file__).with_name("nursery.py"))]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(self, folder: Path, script: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"folder": str(folder), "script": script}) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline(), "the process that starts the scripts is gone"

    def close(self) -> None:
        self.process.communicate()


def watched(case: str, script: str, scratch: Path, nurseries: Queue[Nursery]) -> list[dict[str, Any]]:
    """The loud findings of one script, run in a copy of its folder."""
    work = scratch / f"{case}-{script}"
    shutil.copytree(SCRIPTS / case, work)
    nursery = nurseries.get()
    try:
        nursery.run(work, script)
    finally:
        nurseries.put(nursery)
    report = json.loads((work / "report.json").read_text(encoding="utf-8"))
    assert report["limits"] == []
    return [f for f in report["findings"] if f["severity"] in ("error", "warning") and not f["suppressed"]]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All scripts, two at a time."""
    scratch = tmp_path_factory.mktemp("scripts")
    nurseries: Queue[Nursery] = Queue()
    for _ in range(AT_ONCE):
        nurseries.put(Nursery())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        started: dict[tuple[str, str], Future[list[dict[str, Any]]]] = {
            run: pool.submit(watched, *run, scratch, nurseries) for run in RUNS
        }
        yield started
    while not nurseries.empty():
        nurseries.get().close()


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
