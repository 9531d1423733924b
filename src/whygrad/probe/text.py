"""A probing for a terminal: one line per probe, then each failure in full, the verdict last."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from whygrad import visible
from whygrad.probe.report import Report, Verdict
from whygrad.report.styled import styled
from whygrad.report.text import WIDTH, explained, flat, put
from whygrad.verdicts.judged import Judged
from whygrad.wording import plural

COLOURS = {"pass": "green", "fail": "bold red", "skip": "yellow"}


def plain(report: Report, width: int = WIDTH) -> str:
    return flat(lines(report, width))


def show(report: Report, console: Console) -> None:
    put(lambda width: lines(report, width), console)


def concise(report: Report) -> str:
    """One line per failure, and one when there is none."""
    rows = [f"{_place(v)}error[{v.code}] {v.finding.message}" for v in report.of("fail") if v.finding is not None]
    return "\n".join(visible.line(row) for row in rows or [_verdict(report)])


def lines(report: Report, width: int) -> list[Text]:
    steps = f"{report.steps} steps each, seed {report.seed}"
    head = f"{report.agent}: {report.actions} actions, {report.observations} observations, {steps}"
    out = [styled(head, style="bold")]
    out += [styled(f"{'':<53}observed (expected)", style="dim"), *(_row(verdict) for verdict in report.verdicts)]
    for verdict in report.of("fail"):
        if verdict.finding is not None:
            out += [styled(), *explained(verdict.finding, report.source, width)]
    return [*out, styled(), styled(_verdict(report), style="bold green" if report else "bold")]


def _row(verdict: Verdict) -> Text:
    head = f"{verdict.code} {verdict.probe.title:<18}{verdict.probe.name:<25}"
    if verdict.status == "skip":
        return styled((" skip ", COLOURS["skip"]), head, f"skipped: {verdict.reason}")
    numbers = _numbers(verdict.judged) if verdict.judged is not None else "stopped by an exception"
    return styled((f" {verdict.status} ", COLOURS[verdict.status]), head, f"{numbers}  {verdict.seconds:.1f} s")


def _numbers(judged: Judged) -> str:
    names = judged.telling or tuple(judged.observed)
    said = ", ".join(f"{name} {judged.observed[name]:+.2f} ({judged.expected[name]:+.2f})" for name in names)
    return f"{said}; {judged.remark}" if judged.remark else said


def _place(verdict: Verdict) -> str:
    site = verdict.finding.site if verdict.finding is not None else None
    return f"{site.file}:{site.line}:{site.col + 1}: " if site is not None else ""


def _verdict(report: Report) -> str:
    failed, passed, skipped = (report.of(status) for status in ("fail", "pass", "skip"))
    stopped = " Interrupted." if report.interrupted else ""
    left = f", {len(skipped)} skipped" if skipped else ""
    if failed and failed[0].finding is not None:
        first = failed[0].finding
        asked = len(failed) + len(passed)
        return (
            f"whygrad: {len(failed)} of {plural(asked, 'probe')} failed{left}.{stopped} {first.code}: {first.message}"
        )
    if not passed:
        return f"whygrad: no probe could be asked{left}.{stopped}"
    return f"whygrad: {plural(len(passed), 'probe')} passed{left}.{stopped}"
