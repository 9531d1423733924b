"""The user's source with a margin: what happened on which line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from whygrad.finding import Finding
from whygrad.report.chaining import why_blocked
from whygrad.report.rounds import copies
from whygrad.source import files
from whygrad.trace import BLOCKING, Kind, Op, Site, Trace
from whygrad.wording import plural

MOST_FILES = 8
MOST_LINES = 1500
"""Of all files together; of what is longer only the surroundings of marks are kept."""
AROUND = 4
KINDS = ("finding", "reaches", "cuts", "in place", "step", "clears", "clips", "copies")


@dataclass(slots=True)
class Listing:
    """One file that took part."""

    lines: dict[int, str] = field(default_factory=dict)
    marks: dict[int, dict[str, str]] = field(default_factory=dict)
    """By line and kind: what to say about it."""


def listings(trace: Trace, findings: list[Finding]) -> dict[str, Listing]:
    out: dict[str, Listing] = {}
    for site, kind, said in _marks(trace, findings):
        if site.file in trace.files or kind == "finding":
            marks = out.setdefault(site.file, Listing()).marks.setdefault(site.line, {})
            marks.setdefault(kind, said)
    out = {file: listing for file, listing in list(out.items())[:MOST_FILES] if files.lines(file)}
    whole = sum(len(files.lines(file)) for file in out) <= MOST_LINES
    for file, listing in out.items():
        found = files.lines(file)
        wanted = range(1, len(found) + 1) if whole else _around(listing.marks, len(found))
        listing.lines = {number: found[number - 1] for number in wanted}
    return out


def _around(marks: dict[int, dict[str, str]], last: int) -> list[int]:
    near = {line + step for line in marks for step in range(-AROUND, AROUND + 1)}
    return sorted(line for line in near if 1 <= line <= last)[:MOST_LINES]


def _marks(trace: Trace, findings: list[Finding]) -> Iterator[tuple[Site, str, str]]:
    for finding in findings:
        if finding.site is not None and finding.loud:
            yield finding.site, "finding", f"{finding.code} {finding.message}"
    for backward in trace.backwards:
        reached = plural(len(backward.deposits), "parameter")
        for site, said in ((backward.site, "backward"), (backward.made, "loss")):
            if site is not None:
                yield site, "reaches", f"{said}: reaches {reached}"
    names = {o.id: o.name for o in trace.optimizers}
    for step in trace.steps:
        if step.site is not None:
            yield step.site, "step", f"{names[step.optimizer]} steps"
    rest = [("clears", "clears gradients", c.site) for c in trace.clears]
    rest += [("clips", "changes gradients", c.site) for c in trace.clips]
    rest += [("copies", "writes into parameters", c.site) for c in copies(trace)]
    yield from ((site, kind, said) for kind, said, site in rest if site is not None)
    yield from _operations(trace)


def _operations(trace: Trace) -> Iterator[tuple[Site, str, str]]:
    for op in trace.graph.ops.values():
        if op.site is None:
            continue
        if op.kind in BLOCKING and _cuts(trace, op):
            yield op.site, "cuts", why_blocked(op)
        elif op.region is not None and op.blocks and op.layer and op.region.site is not None:
            yield op.region.site, "cuts", f"no gradient is recorded under {op.region.how}"
        if op.written.endswith("_") and not op.written.endswith("__") and op.inputs and op.inputs[0].carries:
            yield op.site, "in place", f"{op.written}() changes a value that has a history"


def _cuts(trace: Trace, op: Op) -> bool:
    # Whole numbers that come out of an operation on whole numbers were no gradient's way before either.
    whole = op.kind is Kind.DISCRETE and any(not found.floating for _, found in trace.graph.operands(op))
    return not whole and any(operand.carries for operand in op.inputs)
