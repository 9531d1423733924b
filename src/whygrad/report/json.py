"""The machine-readable report: stable and versioned."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from whygrad.finding import SEVERITIES, Finding, Label
from whygrad.report import chains
from whygrad.report.concise import concise
from whygrad.report.listing import Listing
from whygrad.report.model import VERSION, LossRow, MatrixCell, MatrixRow, ParameterRow, Report
from whygrad.report.rounds import KINDS, Event, Round
from whygrad.report.text import plain
from whygrad.telemetry.summary import Summary
from whygrad.trace import Site


class ReportError(Exception):
    """A stored report cannot be used; the message says why."""


def to_dict(report: Report) -> dict[str, Any]:
    return {
        "version": VERSION,
        "whygrad": report.whygrad,
        "framework": report.framework,
        "script": report.script,
        "script_exit_code": report.script_exit_code,
        "updates": report.updates,
        "backward_calls": report.backward_calls,
        "verdict": report.verdict,
        "findings": [finding_to_dict(f) for f in report.findings],
        "parameters": [
            {
                "name": p.name,
                "shape": p.shape,
                "grad": p.grad,
                "reached_by": p.reached_by,
                "consumed_by": p.consumed_by,
                "changed": p.changed,
                "module": p.module,
                "held_by": p.held_by,
            }
            for p in report.parameters
        ],
        "losses": [
            {
                "name": row.name,
                "span": span(row.site),
                "text": row.text,
                "trains": row.trains,
                "not_reached": row.not_reached,
                "consumed_by": row.consumed_by,
                "terms": row.terms,
            }
            for row in report.losses
        ],
        "matrix": [
            {
                "loss": row.loss,
                "term": row.term,
                "span": span(row.site),
                "cells": {module: dataclasses.asdict(cell) for module, cell in row.cells.items()},
                "cosines": row.cosines,
                "not_reached": row.not_reached,
            }
            for row in report.matrix
        ],
        "roles": report.roles,
        "limits": report.limits,
        "source": {file: {str(n): text for n, text in rows.items()} for file, rows in report.source.items()},
        "telemetry": report.telemetry.to_json() if report.telemetry is not None else None,
        "arguments": report.arguments,
        "python": report.python,
        "seconds": report.seconds,
        "traced_updates": report.traced_updates,
        "paths": chains.to_json(report.chains, span),
        "rounds": [
            {"seen": r.seen, "events": [_event(e) for e in r.events], "left_out": r.left_out} for r in report.rounds
        ],
        "listings": {file: _listing(listing) for file, listing in report.listings.items()},
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "text": event.text,
        "span": span(event.site),
        "lanes": list(event.lanes),
        "note": event.note,
        "wrong": event.wrong,
        "times": event.times,
    }


def _listing(listing: Listing) -> dict[str, Any]:
    """Consecutive lines as one block: keys for each would be as long as the source."""
    blocks: list[dict[str, Any]] = []
    for number, text in sorted(listing.lines.items()):
        if not blocks or number != blocks[-1]["first"] + len(blocks[-1]["lines"]):
            blocks.append({"first": number, "lines": []})
        blocks[-1]["lines"].append(text)
    return {"blocks": blocks, "marks": {str(line): said for line, said in sorted(listing.marks.items())}}


def finding_to_dict(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "span": span(finding.site),
        "here": finding.here,
        "labels": [{"span": span(label.site), "text": label.text} for label in finding.labels],
        "why": finding.why,
        "seen": finding.seen,
        "fix": {"text": finding.fix, "not_a_fix": finding.not_a_fix},
        "evidence": finding.evidence,
        "parameters": finding.parameters,
        "suppressed": finding.suppressed,
    }


def span(site: Site | None) -> dict[str, Any] | None:
    if site is None:
        return None
    return {
        "file": site.file,
        "line": site.line,
        "col": site.col,
        "end_line": site.end_line,
        "end_col": site.end_col,
        "function": site.function,
    }


def _site(data: Any) -> Site | None:
    return Site(**data) if data is not None else None


def dumps(report: Report) -> str:
    return json.dumps(to_dict(report), separators=(",", ":"), default=str) + "\n"


def load(file: Path) -> Report:
    """Read a stored report; one that cannot be understood is refused in a sentence."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ReportError(f"no report at {file}: run `whygrad run script.py` first") from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ReportError(f"{file} is not a readable report ({error})") from error
    if not isinstance(data, dict) or "version" not in data:
        raise ReportError(f"{file} is not a whygrad report")
    if not isinstance(data["version"], int) or data["version"] > VERSION:
        raise ReportError(
            f"{file} was written by a newer whygrad (format {data['version']}; this one reads {VERSION}): upgrade"
        )
    try:
        report = _report(data)
        plain(report), concise(report)  # What was meddled with shows when it is used.
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReportError(f"{file} is damaged ({type(error).__name__}: {error})") from error
    return report


def _report(data: dict[str, Any]) -> Report:
    return Report(
        [_read_finding(f) for f in data["findings"]],
        [ParameterRow(**p) for p in data["parameters"]],
        [
            LossRow(
                row["name"],
                _site(row["span"]),
                row["text"],
                row["trains"],
                row["not_reached"],
                row["consumed_by"],
                row["terms"],
            )
            for row in data["losses"]
        ],
        [
            MatrixRow(
                row["loss"],
                row["term"],
                _site(row["span"]),
                {module: MatrixCell(**cell) for module, cell in row["cells"].items()},
                row["cosines"],
                row.get("not_reached", {}),
            )
            for row in data["matrix"]
        ],
        data["roles"],
        data["updates"],
        data["backward_calls"],
        data["script"],
        data["script_exit_code"],
        data["whygrad"],
        data["framework"],
        data["limits"],
        data["verdict"],
        {file: {int(n): text for n, text in rows.items()} for file, rows in data["source"].items()},
        Summary.from_json(data["telemetry"]) if data.get("telemetry") is not None else None,
        # What reports of the first versions do not have.
        list(data.get("arguments", [])),
        str(data.get("python", "")),
        float(data.get("seconds", 0.0)),
        int(data.get("traced_updates", 0)),
        chains.from_json(data["paths"], _site) if "paths" in data else [],
        [_read_round(r) for r in data.get("rounds", [])],
        {file: _read_listing(listing) for file, listing in data.get("listings", {}).items()},
    )


def _read_round(data: dict[str, Any]) -> Round:
    events = [
        Event(e["kind"], e["text"], _site(e["span"]), tuple(e["lanes"]), e["note"], e["wrong"], e["times"])
        for e in data["events"]
    ]
    if any(event.kind not in KINDS for event in events):
        raise ValueError("a round has an event of unknown kind")
    return Round(data["seen"], events, data["left_out"])


def _read_listing(data: dict[str, Any]) -> Listing:
    lines = {block["first"] + i: text for block in data["blocks"] for i, text in enumerate(block["lines"])}
    return Listing(lines, {int(line): dict(said) for line, said in data["marks"].items()})


def _read_finding(data: dict[str, Any]) -> Finding:
    if data["severity"] not in SEVERITIES:
        raise ValueError(f"unknown severity {data['severity']!r}")
    return Finding(
        data["code"],
        data["name"],
        data["severity"],
        data["message"],
        _site(data["span"]),
        data["here"],
        [Label(site, label["text"]) for label in data["labels"] if (site := _site(label["span"])) is not None],
        data["why"],
        data["seen"],
        data["fix"]["text"],
        data["fix"]["not_a_fix"],
        data["parameters"],
        data["evidence"],
        data["suppressed"],
    )
