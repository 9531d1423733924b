"""Runs the rules over a trace and puts their findings in order."""

from __future__ import annotations

from whygrad import dialect, suppression, thresholds
from whygrad.config import Config
from whygrad.finding import SEVERITIES, Finding
from whygrad.rule import rules
from whygrad.trace import Site, Trace


def diagnose(trace: Trace, config: Config = Config()) -> list[Finding]:
    """Every finding of every rule, suppressed ones included, the most important first."""
    trace.roles = dict(config.roles)
    findings: list[Finding] = []
    for rule in rules().values():
        try:
            with thresholds.adjusted(rule.module, config.thresholds.get(rule.code, {})):
                findings.extend(rule.check(trace))
        except Exception as error:  # One broken rule must not take the others' answers away.
            trace.limits.append(f"rule {rule.code} failed ({type(error).__name__}: {error})")
    for finding in findings:
        dialect.translated(finding, trace.framework)
        finding.suppressed = finding.code in config.ignore
    findings += suppression.apply(findings, trace.files, rules())
    findings += [suppression.unknown_code(code, Site(config.file, 1), "`ignore`") for code in config.unknown]
    return sorted(findings, key=_order)


def _order(finding: Finding) -> tuple[bool, int, str, int, str]:
    site = finding.site
    place = (site.file, site.line) if site is not None else ("", 0)
    return (finding.suppressed, SEVERITIES.index(finding.severity), *place, finding.code)
