"""Folders of scripts, run under whygrad: broken ones with their culprit lines marked, and repaired twins.

`bad.py` marks its culprit lines with `# <- culprit`, `good.py` is its repaired twin, `case.toml` lists the codes
that are fair. A trap has only a `good.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

MARK = "# <- culprit"
AT_ONCE = 2
Finding = dict[str, Any]
Runs = dict[tuple[str, str], "Future[list[Finding]]"]


def pairs(scripts: Path) -> list[tuple[str, str]]:
    """Every case and script of a folder."""
    return sorted(
        (file.parent.name, file.name) for file in scripts.glob("*/*.py") if file.name in ("bad.py", "good.py")
    )


def culprits(folder: Path) -> set[tuple[str, int]]:
    return {
        (file.name, number)
        for file in folder.glob("*.py")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if line.rstrip().endswith(MARK)
    }


class Nursery:
    """A process with these modules imported, which forks one child per script."""

    def __init__(self, *modules: str) -> None:
        command = [sys.executable, str(Path(__file__).with_name("nursery.py")), *modules]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(self, folder: Path, script: str, **more: int) -> int:
        """The exit status; negative if the script ran past its limit."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"folder": str(folder), "script": script, **more}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the process that starts the scripts is gone"
        return int(answer)

    def close(self) -> None:
        self.process.communicate()


def watched(folder: Path, script: str, work: Path, nurseries: Queue[Nursery]) -> list[Finding]:
    """The loud findings of one script, run in a copy of its folder."""
    shutil.copytree(folder, work)
    nursery = nurseries.get()
    try:
        nursery.run(work, script)
    finally:
        nurseries.put(nursery)
    report = json.loads((work / "report.json").read_text(encoding="utf-8"))
    assert report["limits"] == []
    if script == "good.py":
        assert report["script_exit_code"] == 0
    return [f for f in report["findings"] if f["severity"] in ("error", "warning") and not f["suppressed"]]


@contextmanager
def started(scripts: Path, scratch: Path, *modules: str) -> Iterator[Runs]:
    """All scripts of a folder, two at a time."""
    nurseries: Queue[Nursery] = Queue()
    for _ in range(AT_ONCE):
        nurseries.put(Nursery(*modules))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            (case, script): pool.submit(watched, scripts / case, script, scratch / f"{case}-{script}", nurseries)
            for case, script in pairs(scripts)
        }
    while not nurseries.empty():
        nurseries.get().close()


def assert_located(folder: Path, found: list[Finding]) -> None:
    """A fair code on a marked line, and no error of another kind."""
    fair = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))["expect"]
    places = {(Path(f["span"]["file"]).name, f["span"]["line"]) for f in found if f["code"] in fair}
    assert places & culprits(folder), [(f["code"], f["span"]["line"], f["message"]) for f in found]
    assert [f["code"] for f in found if f["severity"] == "error" and f["code"] not in fair] == []


def assert_silent(found: list[Finding]) -> None:
    assert [(f["code"], f["span"]["line"], f["message"]) for f in found] == []
