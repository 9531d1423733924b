"""One card per finding, in the terminal's words."""

from __future__ import annotations

import re
from collections import Counter

from whygrad.finding import Finding
from whygrad.report.html.highlight import Highlighter, Span
from whygrad.report.html.markup import Markup, el, joined
from whygrad.report.model import Report
from whygrad.report.repair import repair
from whygrad.report.snippet import Sources, extent
from whygrad.report.words import inside, paragraphs, suppression
from whygrad.rule import rules
from whygrad.trace import Site
from whygrad.trace.gap import Gap
from whygrad.wording import short

Mark = tuple[Site, str, str]
"""A place, what is said about it, and how it is underlined."""


def causes(report: Report, *, linked: bool = True) -> Markup:
    names = anchors(report)
    cards = [card(f, report.source, names[id(f)], linked=linked) for f in report.findings if f.loud]
    if not cards:
        unless = ", as far as was looked" if report.gaps else ""
        nothing = f"Nothing was found that keeps a gradient from arriving where it should{unless}."
        cards = [el("p", nothing, cls="calm")]
    return el("section", el("h2", "Causes"), cards, _gaps(report), id="causes")


def _gaps(report: Report) -> Markup | None:
    """What was not looked at."""
    if not report.gaps:
        return None
    rows = [el("li", el("p", gap.what, cls="message"), el("p", gap.do), _traceback(gap)) for gap in report.gaps]
    return el("article", el("h3", "Not looked at"), el("ul", rows), cls="card incomplete")


def _traceback(gap: Gap) -> Markup | None:
    if not gap.detail:
        return None
    return el("details", el("summary", "Traceback"), el("pre", gap.detail, cls="page", tabindex="0"))


def anchors(report: Report) -> dict[int, str]:
    """A name per finding that stays the same from run to run, to send to a colleague."""
    seen: Counter[str] = Counter()
    out: dict[int, str] = {}
    for finding in report.findings:
        place = re.sub(r"[^\w.]+", "-", short(finding.site)) if finding.site is not None else "run"
        name = f"{finding.code}-{place}"
        seen[name] += 1
        out[id(finding)] = name if seen[name] == 1 else f"{name}-{seen[name]}"
    return out


def card(finding: Finding, source: Sources, anchor: str, *, linked: bool) -> Markup:
    title = el(
        "h3",
        el("span", finding.severity, cls="severity"),
        " ",
        el("span", finding.code, cls="code"),
        " ",
        el("span", finding.name, cls="rule"),
        el("a", "#", cls="anchor", href=f"#{anchor}", aria_label=f"Link to {finding.code}"),
    )
    body = [el("p", finding.message, cls="message"), snippet(finding, source, linked=linked)]
    details = [_paragraph(name, words, finding, source) for name, words in paragraphs(finding) if name != "more"]
    silence = el(
        "div",
        el("dt", "if it is meant"),
        el("dd", _copied(suppression(finding), "Copy the comment")),
        cls="row silence",
    )
    return el(
        "article",
        title,
        body,
        el("dl", details, silence, cls="said"),
        _page(finding),
        id=anchor,
        cls=f"card {finding.severity}",
    )


def _paragraph(name: str, words: str, finding: Finding, source: Sources) -> Markup:
    extra = _change(finding, source) if name == "fix" else None
    return el("div", el("dt", name), el("dd", words, extra), cls=f"row {name.replace(' ', '-')}")


def _change(finding: Finding, source: Sources) -> Markup | None:
    changed = repair(finding, source)
    if not changed:
        return None
    rows = [el("span", f"{sign} {text}\n", cls="added" if sign == "+" else "removed") for sign, _, text in changed]
    diff = "\n".join(f"{sign} {text}" for sign, _, text in changed)
    return el("div", el("pre", rows, cls="diff", tabindex="0"), _button(diff, "Copy the change"), cls="change")


def _copied(words: str, label: str) -> Markup:
    return joined([el("code", words), " ", _button(words, label)])


def _button(words: str, label: str) -> Markup:
    return el("button", "Copy", type="button", cls="copy", data_copy=words, aria_label=label, hidden=True)


def _page(finding: Finding) -> Markup:
    """The rule's own page, inside: it can be read where there is no network."""
    rule = rules().get(finding.code)
    command = f"whygrad explain {finding.code}"
    if rule is None:
        return el("p", el("code", command), cls="more")
    return el(
        "details",
        el("summary", f"What {finding.code} means, with a broken and a repaired example"),
        el("p", "The same as ", el("code", command), cls="more"),
        el("pre", rule.documentation, cls="page", tabindex="0"),
    )


def snippet(finding: Finding, source: Sources, *, linked: bool) -> Markup | None:
    """The primary place, then every labelled line of the same file in order, then other files."""
    if finding.site is None:
        return None
    marks: list[Mark] = [(finding.site, finding.here, "primary")]
    marks += [(label.site, label.text, "secondary") for label in finding.labels]
    files = dict.fromkeys(site.file for site, _, _ in marks)
    return joined(_figure([m for m in marks if m[0].file == file], source.get(file, {}), linked) for file in files)


def _figure(marks: list[Mark], lines: dict[int, str], linked: bool) -> Markup:
    first = marks[0][0]
    place = f"{first.file}:{first.line}:{first.col + 1}"
    numbers = sorted({site.line for site, _, _ in marks})
    indent = min((len(t) - len(t.lstrip()) for n in numbers if (t := lines.get(n, "")).strip()), default=0)
    rows: list[Markup] = []
    previous = 0
    for number in numbers:
        if previous and number > previous + 1:
            rows.append(el("tr", el("td", "⋮", cls="number", colspan="2"), cls="gap"))
        rows += _line(number, lines.get(number, ""), [m for m in marks if m[0].line == number], indent)
        previous = number
    where = el("a", place, href=f"#{line_anchor(first)}") if linked else place
    caption = el("figcaption", where, inside(first))
    table = el("table", el("tbody", rows), cls="lines", role="presentation")
    return el("figure", caption, el("div", table, cls="scroll", tabindex="0"), cls="snippet")


def _line(number: int, line: str, marks: list[Mark], indent: int) -> list[Markup]:
    ordered = sorted(marks, key=lambda m: m[2] != "primary")
    spans = tuple(Span(site.col - indent, _end(site, line) - indent, cls) for site, _, cls in ordered)
    code = el("td", el("code", Highlighter().line(line[indent:], spans)), cls="source")
    out = [el("tr", el("td", str(number), cls="number"), code)]
    for site, said, cls in ordered:
        if said:
            pad = el("span", " " * min(extent(site, line)[0] - indent, 48), cls="pad", aria_hidden="true")
            label = el("td", pad, el("span", said, cls=f"label {cls}"))
            out.append(el("tr", el("td", cls="number"), label, cls="said"))
    return out


def _end(site: Site, line: str) -> int:
    return site.end_col if site.end_line in (0, site.line) and site.end_col else len(line.rstrip())


def line_anchor(site: Site) -> str:
    return f"L-{re.sub(r'[^A-Za-z0-9.]+', '-', site.file)}-{site.line}"
