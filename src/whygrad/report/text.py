"""The report for a terminal, in the manner of rustc."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable

from rich.console import Console
from rich.text import Text

from whygrad.finding import Finding
from whygrad.report.model import Report
from whygrad.report.snippet import Sources, snippet
from whygrad.report.table import losses, roles
from whygrad.report.words import counted, headline, healthy, paragraphs, short

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
        out.append(Text(f"whygrad: {counted(report)}", "bold"))
    out += [Text(f"whygrad: limit: {limit}", "dim") for limit in report.limits]
    return out


def explained(finding: Finding, source: Sources, width: int) -> list[Text]:
    """One finding: the consequence, the place, the reason, the evidence and the way out."""
    colour = COLOURS[finding.severity]
    head = headline(finding)
    out = [
        Text(row, colour if i == 0 else "bold")
        for i, row in enumerate(textwrap.wrap(head, width, break_on_hyphens=False) or [head])
    ]
    out += snippet(finding, source, colour)
    for title, body in paragraphs(finding):
        out += _paragraph(title, body, width)
    return out


def _note(finding: Finding) -> Text:
    """Checked and harmless: one line is enough."""
    place = f" {short(finding.site)}:" if finding.site is not None else ""
    return Text.assemble((f"note[{finding.code}]{place}", COLOURS["note"]), f" {finding.message}")


def _paragraph(title: str, body: str, width: int) -> list[Text]:
    head = f"   = {title}:".ljust(12) if len(title) <= 5 else f"   = {title}: "
    wrapped = textwrap.wrap(body, width, initial_indent=head, subsequent_indent=" " * 12, break_on_hyphens=False)
    return [Text.assemble((row[: len(head)], "bold blue"), row[len(head) :]) for row in wrapped]


def _healthy(report: Report, width: int, most: int) -> list[Text]:
    if report.verdict:
        return [Text(f"whygrad: {report.verdict}")]
    last = roles(report.roles, width)
    return [
        Text(f"whygrad: {healthy(report)}", "bold green"),
        *losses(report, max(width, TABLE_WIDTH), most - 1 - len(last)),
        *last,
    ]
