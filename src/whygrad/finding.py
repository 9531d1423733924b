"""A finding: what whygrad says, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from whygrad.trace.site import Site

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Label:
    """A secondary place and what it has to do with the cause."""

    site: Site
    text: str


@dataclass(slots=True)
class Finding:
    """One cause. The message states the consequence in the user's own names."""

    code: str
    name: str
    severity: str
    message: str
    site: Site | None
    here: str = ""
    """What happens at the primary span."""
    labels: list[Label] = field(default_factory=list)
    why: str = ""
    seen: str = ""
    fix: str = ""
    not_a_fix: str = ""
    parameters: list[str] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    suppressed: bool = False

    @property
    def loud(self) -> bool:
        return self.severity in ("error", "warning") and not self.suppressed
