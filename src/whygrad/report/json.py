"""The machine-readable report: stable and versioned."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from whygrad import document
from whygrad.fields import FieldError, Fields, whole
from whygrad.finding import Finding
from whygrad.report import chains, stored
from whygrad.report.listing import Listing
from whygrad.report.model import VERSION, Report
from whygrad.report.rounds import Event
from whygrad.trace import Site

MOST_BYTES = 64_000_000
"""Of a stored report: ten times what a network of a thousand layers leaves."""


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
        "missing": [dataclasses.asdict(gap) for gap in report.gaps],
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
                "trained": p.trained,
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


def dumps(report: Report) -> str:
    return json.dumps(to_dict(report), separators=(",", ":"), default=str) + "\n"


def load(file: Path) -> Report:
    """Read a stored report; one that cannot be understood is refused in a sentence."""
    try:
        data = document.read(file, MOST_BYTES)
    except FileNotFoundError as error:
        raise ReportError(f"no report at {file}: run `whygrad run script.py` first") from error
    except document.DocumentError as error:
        raise ReportError(f"{file} is not a readable report ({error})") from error
    if not isinstance(data, dict) or "version" not in data:
        raise ReportError(f"{file} is not a whygrad report")
    try:
        if Fields(data)("version", whole(1)) > VERSION:
            raise ReportError(
                f"{file} was written by a newer whygrad (format {data['version']}; this one reads {VERSION}): upgrade"
            )
        return stored.report(data)
    except FieldError as error:
        raise ReportError(f"{file} is damaged: {error}") from error
