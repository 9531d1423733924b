"""The update protocol, from top to bottom in the order in which it happened."""

from __future__ import annotations

from whygrad.report.html.causes import anchors, line_anchor
from whygrad.report.html.markup import Markup, el
from whygrad.report.model import Report
from whygrad.report.rounds import Event, Round
from whygrad.wording import plural, short

NAMES = {
    "backward": "backward deposits gradient",
    "clip": "clip scales it",
    "step": "step uses it",
    "clear": "zero_grad clears it",
    "copy": "weights are copied",
}

Causes = dict[tuple[str, int], tuple[str, str]]
"""Findings by the line they name: code and address."""


def rounds(report: Report) -> Markup:
    if not report.rounds:
        body: list[Markup] = [el("p", "No optimizer step was traced.", cls="calm")]
    else:
        kinds = [k for k in NAMES if any(e.kind == k for r in report.rounds for e in r.events)]
        legend = [el("li", el("span", cls=f"event {k}"), f" {NAMES[k]}") for k in kinds]
        names = anchors(report)
        causes = {(f.site.file, f.site.line): (f.code, names[id(f)]) for f in report.loud if f.site is not None}
        body = [el("ul", legend, cls="legend"), *(_round(found, causes) for found in report.rounds)]
    return el("section", el("h2", "Update order"), body, id="rounds")


def _round(found: Round, causes: Causes) -> Markup:
    lanes = list(dict.fromkeys(lane for event in found.events for lane in event.lanes))
    heads = [el("th", "", scope="col"), [el("th", lane, scope="col", cls="lane") for lane in lanes]]
    heads += [el("th", "what happens", scope="col"), el("th", "", scope="col")]
    rows = [_event(index, event, lanes, causes) for index, event in enumerate(found.events, 1)]
    said = f"Seen in {plural(found.seen, 'traced round')}."
    if found.left_out:
        said += f" {plural(found.left_out, 'later event')} left out."
    table = el("table", el("caption", said), el("thead", el("tr", heads)), el("tbody", rows), cls="rounds")
    return el("div", table, cls="scroll", tabindex="0", role="region", aria_label="Order of one round")


def _event(index: int, event: Event, lanes: list[str], causes: Causes) -> Markup:
    cells = [
        el("td", el("span", cls=f"event {event.kind}", role="img", aria_label=event.kind), cls="lane")
        if lane in event.lanes
        else el("td", cls="lane")
        for lane in lanes
    ]
    times = f" ×{event.times}" if event.times > 1 else ""
    place = el("a", short(event.site), href=f"#{line_anchor(event.site)}") if event.site is not None else None
    cause = causes.get((event.site.file, event.site.line)) if event.site is not None else None
    what = el("td", el("code", event.text), times, " ", place)
    return el(
        "tr",
        el("td", str(index), cls="number"),
        cells,
        what,
        el("td", event.note, [" ", el("a", cause[0], href=f"#{cause[1]}")] if cause is not None else None, cls="note"),
        cls="wrong" if event.wrong or cause is not None else None,
    )
