"""Every parameter: sortable and filterable with the page's script, complete without it."""

from __future__ import annotations

import math

from whygrad.report.html.causes import anchors
from whygrad.report.html.drawing import framed, sparkline
from whygrad.report.html.markup import Markup, el, joined
from whygrad.report.model import ParameterRow, Report
from whygrad.report.numbers import number, shape
from whygrad.telemetry.summary import ParameterCourse

COLUMNS = ("parameter", "shape", "optimizer", "reached by", "gradient", "norm", "over time", "changed", "cause")
SORTED = frozenset({"parameter", "shape", "optimizer", "gradient", "norm", "changed", "cause"})


def parameters(report: Report) -> Markup:
    if not report.parameters:
        body: list[Markup | None] = [el("p", "No optimizer held any parameter.", cls="calm")]
    else:
        body = [_filter(len(report.parameters)), _drawings(report), _table(report)]
    return el("section", el("h2", "Parameters"), body, id="parameters")


def _filter(count: int) -> Markup:
    box = el("input", type="search", id="filter", placeholder="name, optimizer, cause", autocomplete="off")
    said = el("output", f"{count} of {count}", id="filtered", for_="filter")
    return el("p", el("label", "filter ", box), " ", said, cls="filter", id="filtering", hidden=True)


def _drawings(report: Report) -> Markup | None:
    """One course per layer; every row of the layer points to it."""
    norms = report.telemetry.norms if report.telemetry is not None else {}
    paths = [sparkline(series.shown(), f"n{index}") for index, series in enumerate(norms.values())]
    return Markup(f'<svg class="defs" aria-hidden="true"><defs>{joined(paths)}</defs></svg>') if paths else None


def _table(report: Report) -> Markup:
    heads = [
        el("th", name, scope="col", data_sort=name in SORTED, cls="number" if name == "norm" else None)
        for name in COLUMNS
    ]
    names = anchors(report)
    causes = {p: (f.code, names[id(f)]) for f in reversed(report.loud) for p in f.parameters}
    summary = report.telemetry
    courses = summary.parameters if summary is not None else {}
    norms = summary.norms if summary is not None else {}
    numbers = {name: index for index, (name, series) in enumerate(norms.items()) if len(series.shown()) > 1}
    rows = [_row(p, causes.get(p.name), courses.get(p.name), numbers) for p in report.parameters]
    table = el("table", el("thead", el("tr", heads)), el("tbody", rows), cls="parameters", id="parameter-table")
    return el("div", table, cls="scroll tall", tabindex="0", role="region", aria_label="Parameters")


def _row(
    row: ParameterRow, cause: tuple[str, str] | None, course: ParameterCourse | None, numbers: dict[str, int]
) -> Markup:
    found = course.raw if course is not None and course.raw.samples else course.clipped if course is not None else None
    norm = found.norm if found is not None and found.finite else None
    layer = numbers.get(course.layer) if course is not None else None
    drawn = framed(Markup(f'<use href="#n{layer}"/>'), "spark")
    return el(
        "tr",
        el("th", row.name, scope="row"),
        el("td", shape(row.shape), data_value=math.prod(row.shape)),
        el("td", ", ".join(row.held_by or row.consumed_by) or "nobody"),
        el("td", ", ".join(row.reached_by) or "nothing"),
        el("td", row.grad),
        el("td", number(norm), cls="number", data_value=norm if norm is not None else -1),
        el("td", drawn if layer is not None else None),
        el("td", "yes" if row.changed else "no"),
        el("td", el("a", cause[0], href=f"#{cause[1]}") if cause is not None else None),
        cls=None if row.consumed_by else "idle",
    )
