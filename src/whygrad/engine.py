"""Runs the rules over a trace and puts their findings in order."""

from __future__ import annotations

import traceback

from whygrad import dialect, precedence, suppression, thresholds
from whygrad.capture.blame import our_own, package
from whygrad.config import Config
from whygrad.finding import SEVERITIES, Finding
from whygrad.rule import Rule, broken_plugins, rules
from whygrad.trace import Site, Trace, deadline
from whygrad.trace.deadline import TimeUpError
from whygrad.trace.gap import ATTACH, Gap


def diagnose(trace: Trace, config: Config = Config()) -> list[Finding]:
    """Every finding of every rule, suppressed ones included, the most important first."""
    trace.roles = dict(config.roles)
    findings: list[Finding] = []
    late: list[str] = []
    failed: list[Gap] = []
    for rule in rules().values():
        try:
            deadline.check()
            with thresholds.adjusted(rule.module, config.thresholds.get(rule.code, {})):
                findings.extend(rule.check(trace))
        except TimeUpError:
            late.append(rule.code)
        except (Exception, SystemExit) as error:  # One broken rule must not take the others' answers away.
            if isinstance(error, Exception) and not our_own(error, {package(rule.check)}):
                raise
            failed.append(_failed(rule, error))
    trace.gaps += failed
    if late:
        trace.gaps.append(_too_late(late))
    trace.gaps += [_unloaded(name, said) for name, said in broken_plugins().items()]
    for finding in findings:
        dialect.translated(finding, trace.framework)
        finding.suppressed = finding.code in config.ignore
    silenced = suppression.apply(findings, trace.files, rules())
    findings = precedence.causes_only(findings) + silenced
    findings += [suppression.unknown_code(code, Site(config.file, 1), "`ignore`") for code in config.unknown]
    return sorted(findings, key=_order)


def _failed(rule: Rule, error: BaseException) -> Gap:
    said = f"rule {rule.code} failed ({type(error).__name__}: {error}), so {rule.name} was not looked for"
    return Gap(said, ATTACH, "".join(traceback.format_exception(error)))


def _too_late(codes: list[str]) -> Gap:
    first = codes[0] if len(codes) == 1 else f"{codes[0]} and {len(codes) - 1} more"
    return Gap(
        f"the time for the report was over before {first} had looked",
        "give it more: --deadline SECONDS, or deadline in [tool.whygrad]",
    )


def _unloaded(name: str, said: str) -> Gap:
    return Gap(f"the plugin {name} could not be loaded ({said})", "repair or uninstall it")


def _order(finding: Finding) -> tuple[bool, int, str, int, str]:
    site = finding.site
    place = (site.file, site.line) if site is not None else ("", 0)
    return (finding.suppressed, SEVERITIES.index(finding.severity), *place, finding.code)
