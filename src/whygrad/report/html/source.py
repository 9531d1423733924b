"""The user's files with a margin: what happened on which line."""

from __future__ import annotations

from whygrad.report.html.causes import line_anchor
from whygrad.report.html.highlight import Highlighter
from whygrad.report.html.markup import Markup, el
from whygrad.report.listing import KINDS, Listing
from whygrad.report.model import Report
from whygrad.trace import Site

MARGIN = {
    "finding": "!",
    "reaches": "∇",
    "cuts": "✂",
    "in place": "↺",
    "step": "▶",
    "clears": "0",
    "clips": "⊓",
    "copies": "⇒",
}
SAID = {
    "finding": "a finding",
    "reaches": "loss or backward",
    "cuts": "gradient ends",
    "in place": "changed in place",
    "step": "optimizer step",
    "clears": "gradients cleared",
    "clips": "gradients clipped",
    "copies": "weights copied",
}


def source(report: Report) -> Markup:
    if not report.listings:
        body: list[Markup] = [el("p", "No line of a file of yours took part.", cls="calm")]
    else:
        used = [k for k in KINDS if any(k in m for found in report.listings.values() for m in found.marks.values())]
        legend = [el("li", _sign(k), f" {SAID[k]}") for k in used]
        files = [_file(name, listing) for name, listing in report.listings.items()]
        body = [el("ul", legend, cls="legend"), *files]
    return el("section", el("h2", "Source"), body, id="source")


def _sign(kind: str) -> Markup:
    return el("span", MARGIN[kind], cls=f"sign {kind.replace(' ', '-')}", aria_hidden="true")


def _file(name: str, listing: Listing) -> Markup:
    colour = Highlighter()
    rows = []
    previous = 0
    for number, line in sorted(listing.lines.items()):
        if previous and number > previous + 1:
            rows.append(el("tr", el("td", "⋮", colspan="3", cls="number"), cls="gap"))
            colour = Highlighter()
        rows.append(_line(name, number, colour.line(line), listing.marks.get(number, {})))
        previous = number
    table = el("table", el("tbody", rows), cls="lines listing", role="presentation")
    title = el("summary", el("code", name), f" {len(listing.marks)} marked lines")
    return el("details", title, el("div", table, cls="scroll", tabindex="0"), open=True)


def _line(name: str, number: int, code: Markup, marks: dict[str, str]) -> Markup:
    if not marks:
        return Markup(f'<tr><td><td class="number">{number}<td><code>{code}</code></tr>')
    ordered = [kind for kind in KINDS if kind in marks]
    said = "; ".join(marks[kind] for kind in ordered)
    margin = [_sign(kind) for kind in ordered]
    return el(
        "tr",
        el("td", margin, el("span", said, cls="sr"), cls="margin", title=said),
        el("td", str(number), cls="number"),
        el("td", el("code", code)),
        id=line_anchor(Site(name, number)),
        cls=f"marked {ordered[0].replace(' ', '-')}",
    )
