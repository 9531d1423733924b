"""Running one script, plain and under whygrad, in a scratch folder."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

PLAIN_LIMIT = 30.0
WATCHED_LIMIT = 120.0
_WEIGHTS = re.compile(r"^weights (\w+)", re.MULTILINE)
_LOUD = ("error", "warning")


@dataclass(frozen=True)
class Plain:
    """What a script does on its own: the digest of its weights, or the error it ended with."""

    weights: str
    error: str


@dataclass(frozen=True)
class Said:
    """One error or warning of whygrad."""

    code: str
    severity: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.severity} {self.code} on line {self.line}"


@dataclass(frozen=True)
class Watched:
    weights: str
    said: list[Said] = field(default_factory=list)
    failure: str = ""
    """Why there is no report."""


def plain(name: str, source: str, fresh: bool = False) -> Plain:
    """Run a script with python; what it does is remembered, because it does not depend on whygrad."""
    memory = _remembered(source)
    if memory.exists() and not fresh:
        return Plain(**json.loads(memory.read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, name, source)
        ended = _run([sys.executable, name], folder, PLAIN_LIMIT)
    result = Plain("", "timeout")
    if ended is not None:
        last = ended.stderr.strip().split("\n")[-1] if ended.returncode else ""
        result = Plain(_digest(ended.stdout), last)
        memory.parent.mkdir(exist_ok=True)
        memory.write_text(json.dumps(asdict(result)), encoding="utf-8")
    return result


def _remembered(source: str) -> Path:
    key = hashlib.sha256(f"{version('torch')} {sys.version} {source}".encode()).hexdigest()
    return Path(tempfile.gettempdir()) / "whygrad-mutants" / f"{key}.json"


def watched(name: str, source: str) -> Watched:
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, name, source)
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "whygrad", "run", "--json", str(report), name]
        ended = _run(command, folder, WATCHED_LIMIT)
        if ended is None:
            return Watched("", failure=f"no answer in {WATCHED_LIMIT:.0f} s")
        if not report.exists():
            last = (ended.stderr.strip() or ended.stdout.strip()).split("\n")[-1]
            return Watched("", failure=f"no report, exit {ended.returncode}: {last[:160]}")
        found = json.loads(report.read_text(encoding="utf-8"))["findings"]
    loud = [f for f in found if f["severity"] in _LOUD and not f["suppressed"]]
    return Watched(_digest(ended.stdout), [_said(finding) for finding in loud])


def _said(finding: dict[str, object]) -> Said:
    span = finding["span"] if isinstance(finding["span"], dict) else {}
    file = Path(str(span.get("file", ""))).name
    return Said(str(finding["code"]), str(finding["severity"]), file, int(span.get("line", 0)))


def _write(folder: str, name: str, source: str) -> None:
    (Path(folder) / name).write_text(source, encoding="utf-8")


def _digest(stdout: str) -> str:
    match = _WEIGHTS.search(stdout)
    return match.group(1) if match else ""


def _run(command: list[str], folder: str, limit: float) -> subprocess.CompletedProcess[str] | None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return None
