"""Who trains whom: loss terms by modules."""

from __future__ import annotations

import math

from whygrad.finding import Finding
from whygrad.report.html.markup import Markup, el
from whygrad.report.model import MatrixRow, Report
from whygrad.report.numbers import percent
from whygrad.report.standing import WORDS, Standing, columns, concerned, standings
from whygrad.wording import short

SIGNS = {
    "consumed": "●",
    "leaking": "▲",
    "missing": "✕",
    "discarded": "⊘",
    "unused": "○",
    "constant": "·",
    "zero": "0",
    "nothing": "",
}


def matrix(report: Report, *, linked: bool = True) -> Markup:
    return el("section", el("h2", "Who trains whom"), _body(report, linked), id="matrix")


def _body(report: Report, linked: bool) -> list[Markup]:
    modules = columns(report)
    if not report.matrix or not modules:
        return [el("p", "No loss was traced in this run, so there is nothing to show.", cls="calm")]
    found, about = standings(report), concerned(report)
    states = [s for s in SIGNS if s != "nothing" and any(v.state == s for v in found.values())]
    legend = [el("li", el("span", SIGNS[s], cls=f"sign {s}", aria_hidden="true"), " ", WORDS[s]) for s in states]
    table = el(
        "table",
        el("thead", el("tr", el("th", "loss term", scope="col"), [_module(m, report, about[m]) for m in modules])),
        el("tbody", [_row(i, row, modules, found, linked) for i, row in enumerate(report.matrix)]),
        cls="matrix",
    )
    scroll = el("div", table, cls="scroll", tabindex="0", role="region", aria_label="Loss terms by modules")
    said = (
        "Rows are the terms of the losses as written, columns are modules. Percent: the part of the module's gradient, "
        "by norm, that the term makes."
    )
    said += " A field opens its path." if linked else ""
    return [el("p", said, cls="calm"), scroll, el("ul", legend, cls="legend")]


def _module(module: str, report: Report, findings: list[Finding]) -> Markup:
    role = report.roles.get(module, "")
    codes = ", ".join(dict.fromkeys(f.code for f in findings))
    return el(
        "th",
        el("span", module, cls="name"),
        el("span", role, cls="role") if role else None,
        el("span", codes, cls="codes") if codes else None,
        scope="col",
    )


def _row(
    index: int, row: MatrixRow, modules: list[str], found: dict[tuple[int, str], Standing], linked: bool
) -> Markup:
    place = short(row.site) if row.site is not None else ""
    loss = f"{row.loss} · " if row.term else ""
    head = el("th", el("code", row.term or row.loss), el("span", f"{loss}{place}", cls="place"), scope="row")
    return el("tr", head, [_cell(index, module, found[index, module], linked) for module in modules])


def _cell(index: int, module: str, standing: Standing, linked: bool) -> Markup:
    state, cell = standing.state, standing.cell
    if state == "nothing":
        return el("td", el("span", WORDS["nothing"], cls="sr"), cls="nothing")
    level = f" s{_tenths(cell.share)}" if cell is not None else ""
    shown = percent(cell.share) if cell is not None and cell.share is not None else ""
    shown = shown or (f"{cell.reached}/{cell.total}" if cell is not None else "")
    codes = " ".join(standing.codes)
    words = f"{state}: {standing.said}" + (f" ({codes})" if codes else "")
    address = {"href": "#path", "data_row": index, "data_module": module} if linked else {}
    link = el(
        "a",
        el("span", SIGNS[state], cls="sign", aria_hidden="true"),
        el("span", shown or codes or state, cls="value"),
        el("span", f", {words}", cls="sr"),
        title=words,
        **address,
    )
    return el("td", link, cls=f"{state}{level}")


def _tenths(share: float | None) -> int:
    """Of a share that may be none: terms whose gradient is not finite have no part of it."""
    return round(min(max(share, 0.0), 1.0) * 10) if share is not None and math.isfinite(share) else 10
