"""The chain between a loss term and a parameter; the page's script draws the one that is chosen."""

from __future__ import annotations

from typing import Any

from whygrad.report import chains, json
from whygrad.report.html.causes import anchors, line_anchor
from whygrad.report.html.markup import Markup, data, el
from whygrad.report.model import Report
from whygrad.report.numbers import shape
from whygrad.report.standing import standings
from whygrad.wording import short


def path(report: Report) -> Markup:
    if not report.chains:
        return _section(el("p", "No path was kept: no loss of this run was traced.", cls="calm"))
    chooser = el(
        "p",
        _choice("term", "loss term"),
        _choice("module", "module"),
        _choice("parameter", "parameter"),
        cls="chooser",
    )
    return _section(
        el("noscript", el("p", "Paths are drawn by the page's script, which is switched off here.", cls="calm")),
        el(
            "div",
            chooser,
            el("p", id="path-said", aria_live="polite"),
            el("div", id="path-drawing"),
            id="path-view",
            hidden=True,
        ),
        data("path-data", paths(report)),
    )


def _section(*body: Markup) -> Markup:
    return el("section", el("h2", "Path"), body, id="path")


def _choice(name: str, label: str) -> Markup:
    return el("label", f"{label} ", el("select", id=f"path-{name}"))


def paths(report: Report) -> dict[str, Any]:
    """Chains and stops with the links that each stop leads to."""
    stored = chains.to_json(report.chains, json.span)
    names = anchors(report)
    findings = {f.code: names[id(f)] for f in reversed(report.findings) if f.loud}
    table = dict.fromkeys(stop for chain in report.chains for stop in chain.stops)
    for row, stop in zip(stored["stops"], table, strict=True):
        del row["span"]
        row["shape"] = shape(stop.shape) if stop.role != "folded" else ""
        row["place"] = short(stop.site) if stop.site is not None else ""
        row["href"] = f"#{line_anchor(stop.site)}" if stop.site is not None else ""
        row["finding"] = f"#{findings[stop.code]}" if stop.code in findings else ""
    rows = [f"{row.loss}: {row.term}" if row.term else row.loss for row in report.matrix]
    states = {f"{index} {module}": found.state for (index, module), found in standings(report).items()}
    return {**stored, "rows": rows, "states": states}
