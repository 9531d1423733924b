"""The report for a terminal, in the manner of rustc."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable

from rich.console import Console
from rich.text import Text

from whygrad.finding import Finding
from whygrad.report.model import Report
from whygrad.report.snippet import Sources, snippet
from whygrad.report.table import losses, roles

COLOURS = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
WIDTH = 100
TABLE_WIDTH = 120
MOST_LINES = 9
"""Of a healthy verdict: it shares the screen with other things."""
MOST_NOTES = 3


def plain(report: Report, width: int = WIDTH) -> str:
    """Without colour, at a fixed width."""
    return flat(lines(report, width))


def flat(written: Iterable[Text]) -> str:
    return "\n".join(line.plain.rstrip() for line in written)


def show(report: Report, console: Console) -> None:
    put(lambda width: lines(report, width), console)


def put(written: Callable[[int], Iterable[Text]], console: Console) -> None:
    """On a terminal as wide as it is, within reason; else at the width of the snapshots."""
    width = min(console.width, 120) if console.is_terminal else WIDTH
    for line in written(max(width, 60)):
        console.print(line, soft_wrap=True, highlight=False)


def lines(report: Report, width: int) -> list[Text]:
    """The whole report, line by line; the verdict comes last because logs scroll."""
    out: list[Text] = []
    for finding in report.findings:
        if finding.loud:
            out += [*explained(finding, report.source, width), Text()]
    if not report.loud:
        notes = [_note(f) for f in report.findings if f.severity == "note" and not f.suppressed][:MOST_NOTES]
        out += [*notes, *_healthy(report, width, MOST_LINES - len(notes))]
    else:
        out.append(_summary(report))
    out += [Text(f"whygrad: limit: {limit}", "dim") for limit in report.limits]
    return out


def explained(finding: Finding, source: Sources, width: int) -> list[Text]:
    """One finding: the consequence, the place, the reason, the evidence and the way out."""
    colour = COLOURS[finding.severity]
    head = f"{finding.severity}[{finding.code}] {finding.name}: {finding.message}"
    out = [
        Text(row, colour if i == 0 else "bold")
        for i, row in enumerate(textwrap.wrap(head, width, break_on_hyphens=False) or [head])
    ]
    out += snippet(finding, source, colour)
    rows = [("why", finding.why), ("seen", finding.seen), ("fix", finding.fix), ("not a fix", finding.not_a_fix)]
    for title, body in rows:
        out += _paragraph(title, body, width) if body else []
    out += _paragraph("more", f"whygrad explain {finding.code}", width)
    return out


def _note(finding: Finding) -> Text:
    """Checked and harmless: one line is enough."""
    place = f" {os.path.basename(finding.site.file)}:{finding.site.line}:" if finding.site is not None else ""
    return Text.assemble((f"note[{finding.code}]{place}", COLOURS["note"]), f" {finding.message}")


def _paragraph(title: str, body: str, width: int) -> list[Text]:
    head = f"   = {title}:".ljust(12) if len(title) <= 5 else f"   = {title}: "
    wrapped = textwrap.wrap(body, width, initial_indent=head, subsequent_indent=" " * 12, break_on_hyphens=False)
    return [Text.assemble((row[: len(head)], "bold blue"), row[len(head) :]) for row in wrapped]


def _healthy(report: Report, width: int, most: int) -> list[Text]:
    if report.verdict:
        return [Text(f"whygrad: {report.verdict}")]
    trained = sum(1 for p in report.parameters if p.consumed_by)
    held = len(report.parameters)
    notes = sum(f.severity == "note" and not f.suppressed for f in report.findings)
    silenced = sum(f.suppressed for f in report.findings)
    extra = f" {notes} harmless {'note' if notes == 1 else 'notes'}." if notes else ""
    extra += f" {silenced} suppressed." if silenced else ""
    word = "update" if report.updates == 1 else "updates"
    first = f"whygrad: healthy. {report.updates} {word} watched, {trained} of {held} parameters trained.{extra}"
    last = roles(report.roles, width)
    return [Text(first, "bold green"), *losses(report, max(width, TABLE_WIDTH), most - 1 - len(last)), *last]


def _summary(report: Report) -> Text:
    counts = {s: sum(f.severity == s for f in report.loud) for s in ("error", "warning")}
    said = ", ".join(f"{n} {s}{'s' if n > 1 else ''}" for s, n in counts.items() if n)
    first = report.loud[0]
    place = f" at {os.path.basename(first.site.file)}:{first.site.line}" if first.site is not None else ""
    return Text(f"whygrad: {said}. {first.code}{place}: {first.message}", "bold")
