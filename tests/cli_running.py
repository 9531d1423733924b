"""Starting whygrad and plain python in a folder, and the small scripts that the command-line tests run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST = 90
_LEFT_OUT = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "OMP_NUM_THREADS", "TTY_COMPATIBLE", "TTY_INTERACTIVE")

TRAINING = """\
import torch

policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(3):
    dist = torch.distributions.Categorical(logits=policy(torch.randn(8, 4)))
    log_probs = [p for p in dist.log_prob(dist.sample())]
    collected = torch.stack(log_probs)
    loss = -(collected * torch.randn(8)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
HEALTHY = TRAINING
CUT_LINE = 8
CUT = "torch.nn.Parameter(torch.stack(log_probs))"
BROKEN = TRAINING.replace("torch.stack(log_probs)", CUT)
"""The same training with the log-probabilities copied: WG101 on line 8, an error."""
WARNED = TRAINING.replace("policy.parameters()", "[*policy.parameters(), *critic.parameters()]").replace(
    "optimizer = ", "critic = torch.nn.Linear(4, 1)\noptimizer = "
)
"""The same training with a critic that nobody calls: WG107, a warning."""


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it wrote."""

    status: int
    out: str
    err: str


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This environment without what would change colours or Python's behaviour."""
    kept = {k: v for k, v in os.environ.items() if k not in _LEFT_OUT and not k.startswith("PYTHON")}
    return {**kept, "TERM": "xterm-256color", "PYTHONDONTWRITEBYTECODE": "1", **(extra or {})}


def python(cwd: Path, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Ended:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment(env),
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LONGEST,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def whygrad(cwd: Path, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Ended:
    return python(cwd, "-m", "whygrad", *arguments, stdin=stdin, env=env)


def write(folder: Path, name: str, text: str) -> Path:
    """A file with this (indented) text; folders are made on the way."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    return file


def stored(folder: Path, name: str = ".whygrad/last.json") -> dict[str, Any]:
    """A report that whygrad wrote."""
    data = json.loads((folder / name).read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def codes(report: Mapping[str, Any]) -> list[str]:
    return [finding["code"] for finding in report["findings"]]


def crashed(text: str) -> bool:
    """Whether whygrad's own frames are in what was printed."""
    return "Traceback" in text and os.sep + "whygrad" + os.sep in text
