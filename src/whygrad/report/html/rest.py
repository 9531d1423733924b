"""What was looked at and is fine, what was silenced, what could not be seen, and the data itself."""

from __future__ import annotations

import gzip
from base64 import b64encode
from dataclasses import replace

from whygrad.finding import Finding
from whygrad.report import json
from whygrad.report.html.causes import anchors
from whygrad.report.html.markup import Markup, el, joined
from whygrad.report.model import Report
from whygrad.rule import rules
from whygrad.wording import short

LARGEST = 200
"""Parameters whose telemetry the page carries along."""
LEFT_OUT = ", without the telemetry, which is too large to carry along; `.whygrad/last.json` has it."


def rest(report: Report) -> Markup:
    names = anchors(report)
    notes = [f for f in report.findings if f.severity == "note" and not f.suppressed]
    silenced = [f for f in report.findings if f.suppressed]
    calm = {f"{m}: {why}" for row in report.matrix for m, why in row.not_reached.items()}
    told = {f"{f.code}" for f in report.findings}
    quiet = len([code for code in rules() if code not in told])
    fine = [_finding(f, names[id(f)]) for f in notes]
    fine += [el("li", f"not reached, and meant so: {said}") for said in sorted(calm) if not report.loud]
    fine.append(el("li", f"{quiet} other rules found nothing to say"))
    return el(
        "section",
        el("h2", "Checked"),
        el("h3", "Checked and fine"),
        el("ul", fine),
        _list("Suppressed", [_finding(f, names[id(f)]) for f in silenced]),
        _list("Limits: what could not be seen", [el("li", limit) for limit in report.limits]),
        el("h3", "Raw data"),
        _raw(report),
        id="rest",
    )


def _list(title: str, items: list[Markup]) -> Markup:
    return joined([el("h3", title), el("ul", items) if items else el("p", "None.", cls="calm")])


def _finding(finding: Finding, anchor: str) -> Markup:
    place = f"{short(finding.site)}: " if finding.site is not None else ""
    return el("li", el("span", finding.code, cls="code"), f" {place}{finding.message}", id=anchor)


def _raw(report: Report) -> Markup:
    """The machine-readable report, packed; unpacked by the page's script when somebody wants it."""
    missing = report.telemetry is not None and len(report.telemetry.parameters) > LARGEST
    written = json.dumps(replace(report, telemetry=None) if missing else report)
    packed = b64encode(gzip.compress(written.encode(), 6, mtime=0)).decode()
    button = el("button", "Download report.json", type="button", id="download", hidden=True)
    told = el(
        "p", "The same data as ", el("code", "whygrad run --json"), f" writes{LEFT_OUT if missing else '.'} ", button
    )
    return joined([told, Markup(f'<script type="application/octet-stream" id="raw">{packed}</script>')])
