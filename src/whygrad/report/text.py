"""The report for a terminal, in the manner of rustc."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable

from rich.console import Console
from rich.text import Text

from whygrad import visible
from whygrad.finding import Finding
from whygrad.report.model import Report
from whygrad.report.snippet import Sources, snippet
from whygrad.report.styled import styled
from whygrad.report.table import losses, roles
from whygrad.report.words import concluded, counted, headline, lacking, paragraphs
from whygrad.wording import short

COLOURS = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
WIDTH = 100
TABLE_WIDTH = 120
MOST_LINES = 9
"""Of a healthy verdict: it shares the screen with other things."""
MOST_NOTES = 3
LONGEST = 4000
"""Characters of one paragraph: folding takes the square of the length of a word."""


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
            out += [*explained(finding, report.source, width), styled()]
    if not report.loud:
        notes = [f for f in report.findings if f.severity == "note" and not f.suppressed][:MOST_NOTES]
        out += [row for note in notes for row in _note(note, width)]
        out += _silent(report, width, MOST_LINES - len(notes))
    else:
        out += [*_incomplete(report), styled(f"whygrad: {counted(report)}", style="bold")]
    out += [styled(f"whygrad: limit: {limit}", style="dim") for limit in report.limits]
    return out


def explained(finding: Finding, source: Sources, width: int) -> list[Text]:
    """One finding: the consequence, the place, the reason, the evidence and the way out."""
    colour = COLOURS[finding.severity]
    head = _folded(visible.line(headline(finding)), width)
    out = [styled(row, style=colour if i == 0 else "bold") for i, row in enumerate(head)]
    out += snippet(finding, source, colour)
    for title, body in paragraphs(finding):
        out += _paragraph(title, body, width)
    return out


def _note(finding: Finding, width: int) -> list[Text]:
    """Nothing is wrong there: one sentence is enough."""
    place = f" {short(finding.site)}:" if finding.site is not None else ""
    head = f"note[{finding.code}]{place}"
    first, *others = _folded(f"{head} {finding.message}", width, others=" " * 4)
    return [styled((first[: len(head)], COLOURS["note"]), first[len(head) :]), *map(styled, others)]


def _paragraph(title: str, body: str, width: int) -> list[Text]:
    head = f"   = {title}:".ljust(12) if len(title) <= 5 else f"   = {title}: "
    folded = _folded(body, width, head, " " * 12)
    return [styled((row[: len(head)], "bold blue"), row[len(head) :]) for row in folded]


def _folded(words: str, width: int, first: str = "", others: str = "") -> list[str]:
    shown = words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
    return textwrap.wrap(
        visible.block(shown), width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False
    )


def _silent(report: Report, width: int, most: int) -> list[Text]:
    """Nothing was found; whether that means anything is said first."""
    if not report.updates and report.gaps:
        return _incomplete(report)
    last = roles(report.roles, width)
    return [
        styled(f"whygrad: {concluded(report)}", style="bold yellow" if report.gaps else "bold green"),
        *_missing(report, width),
        *losses(report, max(width, TABLE_WIDTH), most - 1 - len(last)),
        *last,
    ]


def _missing(report: Report, width: int) -> list[Text]:
    rows = [row for gap in report.gaps for row in (("missing", gap.what), ("do", gap.do))]
    return [row for title, body in rows for row in _paragraph(title, body, width)]


def _incomplete(report: Report) -> list[Text]:
    return [styled(f"whygrad: {lacking(gap)}", style="bold yellow") for gap in report.gaps]
