"""What `judge` of an exercise says things with, outside the learner's process."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from whygrad.learn.plain import flat


class Seen(dict[str, Any]):
    """What was observed, and what whygrad found meanwhile."""

    def __init__(self, values: dict[str, Any], findings: list[dict[str, Any]], updates: int) -> None:
        super().__init__(values)
        self.findings = findings
        self.updates = updates
        """Optimizer steps."""

    def part(self, name: str) -> Seen:
        """One of the things that were observed, as if it were all."""
        return Seen(self[name], self.findings, self.updates)

    def codes(self) -> list[str]:
        return [finding["code"] for finding in self.findings]

    def engine(self, *codes: str) -> Iterator[str]:
        """The findings as sentences, all or those of these codes."""
        for finding in self.findings:
            if not codes or finding["code"] in codes:
                yield sentence(finding)


def sentence(finding: dict[str, Any]) -> str:
    """A finding in one breath: where, what, and the way out."""
    place = f"line {finding['line']}: " if finding["line"] else ""
    here = f"{finding['here']}; " if finding["here"] else ""
    fix = f". Fix: {finding['fix']}" if finding["fix"] else ""
    return f"{place}{here}{finding['message']}{fix} ({finding['code']})"


def close(one: Any, other: Any, tolerance: float = 1e-3) -> bool:
    """The same numbers, in the same number; nothing is close to what is no number."""
    ones, others = flat(one), flat(other)
    return len(ones) == len(others) and all(
        math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) for a, b in zip(ones, others, strict=True)
    )


def scaled(value: Any, factor: float) -> list[float]:
    return [factor * number for number in flat(value)]


def said(value: Any) -> str:
    """A number or a list of them, short enough for a sentence."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        shown = ", ".join(said(entry) for entry in value[:6])
        return f"[{shown}{', …' if len(value) > 6 else ''}]"
    return str(value)
