"""From plain data to a report: the other side of `json.to_dict`, for data that may have been meddled with."""

from __future__ import annotations

from whygrad.fields import (
    Fields,
    digits,
    flag,
    items,
    maybe,
    number,
    numbered,
    one_of,
    plain,
    real,
    table,
    text,
    whole,
)
from whygrad.finding import SEVERITIES, Finding, Label
from whygrad.report import chains
from whygrad.report.listing import KINDS as MARKS
from whygrad.report.listing import Listing
from whygrad.report.model import LossRow, MatrixCell, MatrixRow, ParameterRow, Report
from whygrad.report.rounds import KINDS, Event, Round
from whygrad.telemetry.summary import Summary
from whygrad.trace import Site
from whygrad.trace.gap import Gap

count = whole()
texts = items(text)
words = table(text)
line = whole(0, 10_000_000)
column = whole(0, 1_000_000_000)
seconds = number(0.0, 1e12)


def report(value: object) -> Report:
    """Raises FieldError, which names the field that is not what it must be."""
    read = Fields(value)
    matrix = read("matrix", items(_matrix_row))
    return Report(
        findings=read("findings", items(_finding)),
        parameters=read("parameters", items(_parameter)),
        losses=read("losses", items(_loss)),
        matrix=matrix,
        roles=read("roles", words),
        updates=read("updates", count),
        backward_calls=read("backward_calls", count),
        script=read("script", text),
        script_exit_code=read("script_exit_code", whole(-(2**63), 2**63)),
        whygrad=read("whygrad", text),
        framework=read("framework", text),
        limits=read("limits", texts),
        gaps=read("missing", items(_gap)),
        source=read("source", table(_lines)),
        # What reports of the first versions do not have.
        telemetry=read.get("telemetry", maybe(Summary.from_json), None),
        arguments=read.get("arguments", texts, []),
        python=read.get("python", text, ""),
        seconds=read.get("seconds", seconds, 0.0),
        traced_updates=read.get("traced_updates", count, 0),
        chains=read.get("paths", lambda paths: chains.from_json(paths, site, len(matrix)), []),
        rounds=read.get("rounds", items(_round), []),
        listings=read.get("listings", table(_listing), {}),
    )


def _gap(value: object) -> Gap:
    read = Fields(value)
    return Gap(read("what", text), read("do", text), read.get("detail", text, ""))


def site(value: object) -> Site | None:
    if value is None:
        return None
    read = Fields(value)
    return Site(
        read("file", text),
        read("line", line),
        read.get("col", column, 0),
        read.get("end_line", line, 0),
        read.get("end_col", column, 0),
        read.get("function", text, ""),
    )


def _finding(value: object) -> Finding:
    read = Fields(value)
    fix = read("fix", Fields)
    return Finding(
        code=read("code", text),
        name=read("name", text),
        severity=read("severity", one_of(*SEVERITIES)),
        message=read("message", text),
        site=read("span", site),
        here=read("here", text),
        labels=[label for label in read("labels", items(_label)) if label is not None],
        why=read("why", text),
        seen=read("seen", text),
        fix=fix("text", text),
        not_a_fix=fix("not_a_fix", text),
        parameters=read("parameters", texts),
        evidence=read("evidence", table(plain)),
        suppressed=read("suppressed", flag),
    )


def _label(value: object) -> Label | None:
    read = Fields(value)
    place, said = read("span", site), read("text", text)
    return Label(place, said) if place is not None else None


def _parameter(value: object) -> ParameterRow:
    read = Fields(value)
    consumed_by = read("consumed_by", texts)
    return ParameterRow(
        read("name", text),
        read("shape", chains.shape),
        read("grad", text),
        read("reached_by", texts),
        consumed_by,
        read("changed", flag),
        read.get("module", text, ""),
        read.get("held_by", texts, []),
        read.get("trained", flag, bool(consumed_by)),
    )


def _loss(value: object) -> LossRow:
    read = Fields(value)
    return LossRow(
        read("name", text),
        read("span", site),
        read("text", text),
        read("trains", words),
        read("not_reached", words),
        read("consumed_by", texts),
        read.get("terms", texts, []),
    )


def _matrix_row(value: object) -> MatrixRow:
    read = Fields(value)
    return MatrixRow(
        read("loss", text),
        read("term", text),
        read("span", site),
        read("cells", table(_cell)),
        read("cosines", table(table(real))),
        read.get("not_reached", words, {}),
    )


def _cell(value: object) -> MatrixCell:
    read = Fields(value)
    return MatrixCell(
        read("reached", count),
        read("total", count),
        read("norm", maybe(real)),
        read("share", maybe(real)),
        read("consumed_by", texts),
        read("discarded_by", texts),
    )


def _lines(value: object) -> dict[int, str]:
    return numbered(text, digits(line))(value)


def _round(value: object) -> Round:
    read = Fields(value)
    return Round(read("seen", count), read("events", items(_event)), read("left_out", count))


def _event(value: object) -> Event:
    read = Fields(value)
    return Event(
        read("kind", one_of(*KINDS)),
        read("text", text),
        read("span", site),
        tuple(read("lanes", texts)),
        read("note", text),
        read("wrong", flag),
        read("times", count),
    )


def _listing(value: object) -> Listing:
    read = Fields(value)
    lines: dict[int, str] = {}
    for first, written in read("blocks", items(_block)):
        lines |= {first + place: row for place, row in enumerate(written)}
    marks = read("marks", numbered(words, digits(line)))
    known = {number: {kind: said for kind, said in found.items() if kind in MARKS} for number, found in marks.items()}
    return Listing(lines, {number: found for number, found in known.items() if found})


def _block(value: object) -> tuple[int, list[str]]:
    read = Fields(value)
    return read("first", line), read("lines", texts)
