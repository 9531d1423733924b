"""Cause before consequence: what is not said where something is found that explains it.

One table, whatever the order of the rules and the length of the run. A consequence is passed over where its cause
stands in the same report, is no less severe, concerns some of the same parameters, and is not suppressed.
"""

from __future__ import annotations

from collections.abc import Mapping

from whygrad.finding import SEVERITIES, Finding

CAUSES: Mapping[str, tuple[str, ...]] = {
    "WG308": ("WG314",),  # Rollouts by weights that are not refreshed: the copy that stands still is the same copy.
    "WG801": ("WG409",),  # A bonus that is minimised takes the entropy away.
}
"""By the code of the consequence: what may be its cause."""


def causes_only(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if not any(_explains(cause, finding) for cause in findings)]


def _explains(cause: Finding, finding: Finding) -> bool:
    leads = cause.loud and cause.code in CAUSES.get(finding.code, ())
    weighs = SEVERITIES.index(cause.severity) <= SEVERITIES.index(finding.severity)
    return leads and weighs and not set(cause.parameters).isdisjoint(finding.parameters)
