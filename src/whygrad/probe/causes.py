"""Which gradient finding is likely to be behind a failed probe."""

from __future__ import annotations

from collections.abc import Container

from whygrad.finding import Finding, Label

OWN_DOING = ("WG311", "WG506")
"""A reward that no action changes gives advantages of zero, and a ratio that stays at one: the probe's doing."""
ASKED = {"values": ("critic", "online"), "rewards": ("actor", "online")}
"""Whose answers a probe reads: a finding about those networks comes first."""


def likely(found: list[Finding], roles: dict[str, str], asks: str, told: Container[str]) -> Finding | None:
    """The error that explains the failure best, unless it has explained an earlier one."""
    wanted = ASKED.get(asks, ("actor",))
    errors = [f for f in found if f.severity == "error" and not f.suppressed and f.site is not None]
    errors = [f for f in errors if f.code not in OWN_DOING and place(f) not in told]
    return min(errors, key=lambda finding: not _concerns(finding, roles, wanted), default=None)


def place(finding: Finding) -> str:
    """`WG103 train.py:62`."""
    return f"{finding.code} {finding.site.file}:{finding.site.line}" if finding.site is not None else finding.code


def blame(finding: Finding, cause: Finding) -> None:
    """Show the failure at the line that is likely to have caused it."""
    finding.site = cause.site
    finding.here = f"likely cause, {cause.code}: {cause.here}"
    finding.labels = [Label(label.site, label.text) for label in cause.labels]
    finding.fix = f"{cause.fix} ({cause.code} {cause.name}: {cause.message})"
    finding.evidence["cause"] = place(cause)


def _concerns(finding: Finding, roles: dict[str, str], wanted: tuple[str, ...]) -> bool:
    modules = [name for name, role in roles.items() if any(one in role for one in wanted)]
    return any(parameter.startswith(module) for parameter in finding.parameters for module in modules)
