"""The report of a probing: verdicts in order, truthy when none of them is a failure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from whygrad.about import __version__
from whygrad.finding import Finding
from whygrad.probe.catalogue import Probe
from whygrad.report.json import finding_to_dict
from whygrad.report.snippet import Sources
from whygrad.verdicts.judged import Judged

VERSION = 1


class ProbeFailedError(AssertionError):
    """Raised by `assert_passed`; its text is the whole report."""


@dataclass
class Verdict:
    """What one probe says."""

    probe: Probe
    status: str
    """pass, fail or skip."""
    judged: Judged | None = None
    finding: Finding | None = None
    """Of a failure: the consequence, the numbers, the fix, and the line that is likely to blame."""
    reason: str = ""
    """Of a skip."""
    blocked: bool = False
    """Skipped because of a failure, and so is what builds on it."""
    gamma: float = 0.0
    seconds: float = 0.0

    @property
    def code(self) -> str:
        return self.probe.code


@dataclass
class Report:
    agent: str
    actions: str
    observations: str
    steps: int
    seed: int
    verdicts: list[Verdict] = field(default_factory=list)
    source: Sources = field(default_factory=dict)
    interrupted: bool = False

    def __bool__(self) -> bool:
        return bool(self.of("pass")) and not self.of("fail")

    def __str__(self) -> str:
        from whygrad.probe.text import plain

        return plain(self)

    __repr__ = __str__

    def of(self, status: str) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.status == status]

    @property
    def failed(self) -> list[str]:
        """The codes of the failures, in order."""
        return [verdict.code for verdict in self.of("fail")]

    def assert_passed(self) -> None:
        """Raise with the whole report unless every probe that was asked is passed."""
        if not self:
            raise ProbeFailedError(f"\n{self}")

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "whygrad": __version__,
            "agent": self.agent,
            "actions": self.actions,
            "observations": self.observations,
            "steps": self.steps,
            "seed": self.seed,
            "passed": bool(self),
            "interrupted": self.interrupted,
            "verdicts": [_verdict(verdict) for verdict in self.verdicts],
        }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    judged = verdict.judged
    return {
        "code": verdict.code,
        "name": verdict.probe.title,
        "probe": verdict.probe.name,
        "status": verdict.status,
        "expected": judged.expected if judged is not None else {},
        "observed": judged.observed if judged is not None else {},
        "remark": judged.remark if judged is not None else "",
        "reason": verdict.reason,
        "gamma": verdict.gamma,
        "seconds": round(verdict.seconds, 3),
        "finding": finding_to_dict(verdict.finding) if verdict.finding is not None else None,
    }
