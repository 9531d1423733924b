"""What is asked of the worker and what comes back: plain data, on both sides of the process border."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Job:
    """What is to be run, and what is asked of it."""

    source: str
    file: str
    """Where the source lies, for tracebacks and findings."""
    checks: str
    """The source of `checks.py`, and where it lies."""
    checks_file: str
    asked: dict[str, Any]
    watch: str
    limit: float
    nonce: str


@dataclass(frozen=True)
class Raised:
    """An exception that ended the attempt, by the last line of the learner's own code."""

    kind: str
    text: str
    line: int | None


@dataclass
class Answers:
    nonce: str
    seen: dict[str, Any] = field(default_factory=dict)
    wrong: str = ""
    """Said while looking: there was nothing to look at."""
    raised: Raised | None = None
    tampered: str = ""
    findings: list[dict[str, Any]] = field(default_factory=list)
    updates: int = 0
    """Optimizer steps that whygrad saw."""
    report: str = ""
    """The findings as `whygrad run` shows them."""


@dataclass(frozen=True)
class Outcome:
    """How the child ended, seen from the worker."""

    answers: Answers | None
    status: int
    output: str
    timed_out: bool
    line: int | None
    """Where it was when the time was over."""
    seconds: float
