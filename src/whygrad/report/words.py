"""What a report says, whatever shows it: the terminal and the page use the same sentences."""

from __future__ import annotations

from whygrad.finding import Finding
from whygrad.report.model import Report
from whygrad.trace import Site
from whygrad.trace.gap import Gap
from whygrad.wording import plural, short


def headline(finding: Finding) -> str:
    return f"{finding.severity}[{finding.code}] {finding.name}: {finding.message}"


def paragraphs(finding: Finding) -> list[tuple[str, str]]:
    """Title and text of what is said about a finding, in order; nothing is said with nothing."""
    rows = [("why", finding.why), ("seen", finding.seen), ("fix", finding.fix), ("not a fix", finding.not_a_fix)]
    return [*((title, body) for title, body in rows if body), ("more", f"whygrad explain {finding.code}")]


def suppression(finding: Finding) -> str:
    """The comment that silences it where it is meant."""
    return f"# whygrad: ignore[{finding.code}] -- reason"


def counted(report: Report) -> str:
    return f"{causes(report)}. {foremost(report)}"


def foremost(report: Report) -> str:
    """The most important finding in a line."""
    first = report.loud[0]
    place = f" at {short(first.site)}" if first.site is not None else ""
    return f"{first.code}{place}: {first.message}"


def causes(report: Report) -> str:
    """`2 errors, 1 warning`."""
    counts = {s: sum(f.severity == s for f in report.loud) for s in ("error", "warning")}
    return ", ".join(plural(n, s) for s, n in counts.items() if n)


def concluded(report: Report) -> str:
    """The verdict and what it rests on."""
    return f"{report.verdict}. {watched(report)}"


def lacking(gap: Gap) -> str:
    """What was not looked at, and what to do about it, in a line."""
    return f"incomplete: {gap.what}; {gap.do}"


def watched(report: Report) -> str:
    trained = sum(1 for p in report.parameters if p.trained)
    notes = sum(f.severity == "note" and not f.suppressed for f in report.findings)
    silenced = sum(f.suppressed for f in report.findings)
    extra = f" {plural(notes, 'note')}." if notes else ""
    extra += f" {silenced} suppressed." if silenced else ""
    held = len(report.parameters)
    seen = plural(report.updates, "update") if report.updates else plural(report.backward_calls, "backward call")
    return f"{seen} watched, {trained} of {held} parameters trained.{extra}"


def inside(site: Site) -> str:
    """` in Agent.update()`, where it is in a function."""
    function = site.function.replace(".<locals>", "")
    return f" in {function}()" if function and function != "<module>" else ""
