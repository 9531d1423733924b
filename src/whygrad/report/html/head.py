"""The verdict bar: is it healthy, what ran, what it cost."""

from __future__ import annotations

from whygrad.report.html.markup import Markup, el
from whygrad.report.model import Report
from whygrad.report.numbers import duration, fine_percent
from whygrad.report.words import causes, foremost, watched
from whygrad.wording import plural

SECTIONS = (
    ("causes", "Causes"),
    ("matrix", "Who trains whom"),
    ("path", "Path"),
    ("flow", "Gradient flow"),
    ("rounds", "Update order"),
    ("parameters", "Parameters"),
    ("source", "Source"),
    ("rest", "Checked"),
)


def head(report: Report, *, running: bool = False) -> Markup:
    state = {"error": "bad", "warning": "warn"}.get(report.worst() or "", "neutral" if report.gaps else "good")
    title = causes(report) or report.verdict
    said = foremost(report) if report.loud else report.gaps[0].what if report.gaps else watched(report)
    return el(
        "header",
        el("p", "whygrad", cls="brand"),
        el("h1", f"so far: {title}" if running else title),
        el("p", said, cls="sentence", id="verdict"),
        el("dl", [el("div", el("dt", name), el("dd", value)) for name, value in _facts(report, running)], cls="facts"),
        cls=f"verdict {state}",
    )


def contents() -> Markup:
    links = [el("li", el("a", title, href=f"#{anchor}")) for anchor, title in SECTIONS]
    return el("nav", el("ul", links), cls="contents", aria_label="Sections")


def _facts(report: Report, running: bool) -> list[tuple[str, str]]:
    arguments = " ".join(report.arguments)
    script = report.script.removesuffix(arguments).rstrip() if arguments else report.script
    watched = f"{report.updates} watched" + (f", {report.traced_updates} traced" if report.traced_updates else "")
    trained = sum(1 for p in report.parameters if p.trained)
    facts = [
        ("script", script),
        ("arguments", arguments),
        ("updates", watched),
        ("parameters", f"{trained} of {len(report.parameters)} trained"),
        ("backward calls", str(report.backward_calls)),
        ("time", duration(report.seconds) if report.seconds else ""),
        ("telemetry cost", _cost(report)),
        ("exit status", str(report.script_exit_code) if report.script and not running else ""),
        ("versions", ", ".join(v for v in _versions(report) if v)),
    ]
    return [(name, value) for name, value in facts if value]


def _versions(report: Report) -> list[str]:
    python = f"Python {report.python}" if report.python else ""
    return [report.framework, python, f"whygrad {report.whygrad}" if report.whygrad else ""]


def _cost(report: Report) -> str:
    summary = report.telemetry
    if summary is None or not summary.seconds:
        return ""
    share = fine_percent(summary.cost / summary.seconds)
    return f"{share} of the time, {plural(summary.samples, 'sample')}"
