"""From a trace and its findings to a report."""

from __future__ import annotations

import os
from collections import Counter

from whygrad import verdict, wording
from whygrad.finding import Finding
from whygrad.report.chaining import chains
from whygrad.report.listing import listings
from whygrad.report.model import ZERO, LossRow, MatrixCell, MatrixRow, ParameterRow, Report
from whygrad.report.rounds import rounds
from whygrad.source import expressions, files
from whygrad.trace import Backward, Copy, Optimizer, Trace
from whygrad.trace.consumption import consumers, trained
from whygrad.trace.grouping import modules
from whygrad.trace.matrix import Cell, Row, matrix
from whygrad.trace.membership import PERSISTENT
from whygrad.trace.roles import roles
from whygrad.trace.terms import terms
from whygrad.trace.trace import worked_out_once
from whygrad.trace.unmoved import moving, unmoved
from whygrad.trace.uses import clears_of, steps_using

MOST_LOSSES = 12


def build(trace: Trace, findings: list[Finding]) -> Report:
    rows = matrix(trace)
    report = Report(
        findings,
        _parameters(trace),
        _losses(trace),
        _matrix(trace, rows),
        roles(trace),
        trace.updates,
        trace.backward_calls,
        limits=list(trace.limits),
        gaps=verdict.gaps(trace, findings),
    )
    report.source = _source(findings)
    report.traced_updates = trace.traced_updates
    report.chains = chains(trace, rows, findings)
    report.rounds = rounds(trace)
    report.listings = listings(trace, findings)
    return report


def shown(trace: Trace) -> list[int]:
    """Parameters worth a row: held by an optimizer, trained by hand, or reached again and again, as no input is."""
    deposits = Counter(n for b in trace.backwards for n in b.deposits)
    wanted = trace.holders.keys() | trained(trace)
    return [p.id for p in trace.parameters if p.id in wanted or deposits[p.id] >= PERSISTENT]


def _parameters(trace: Trace) -> list[ParameterRow]:
    rows = []
    reaching: dict[int, dict[str, None]] = {}
    for backward in trace.backwards:
        for number in backward.deposits:
            reaching.setdefault(number, {})[backward.name] = None
    for number in shown(trace):
        parameter = trace.parameter(number)
        reached = reaching.get(number, {})
        holders = trace.holders.get(number, [])
        consumed = [o.name for o in holders if parameter.consumed]
        rows.append(
            ParameterRow(
                parameter.name,
                list(parameter.shape),
                parameter.grad,
                list(reached),
                consumed,
                parameter.changed and number not in unmoved(trace),
                parameter.module,
                [o.name for o in holders],
                number in moving(trace),
            )
        )
    return rows


def _losses(trace: Trace) -> list[LossRow]:
    latest: dict[object, Backward] = {}
    for backward in trace.backwards:
        key = (backward.site, backward.library, backward.made)
        known = latest.get(key)
        if backward.how == "backward" and (backward.root is not None or known is None or known.root is None):
            latest[key] = backward
    return [_loss(trace, backward) for backward in list(latest.values())[:MOST_LOSSES]]


def _users(trace: Trace, backward: Backward) -> list[Optimizer]:
    """Of those that would have used its gradient, the ones that hold some of what it arrived at, if any does."""
    found = consumers(trace, backward)
    return [o for o in found if not backward.deposits.isdisjoint(o.parameters)] or found


def _loss(trace: Trace, backward: Backward) -> LossRow:
    op = trace.graph.ops.get(backward.root) if backward.root is not None else None
    members = modules(trace)
    thrown = _discarded(trace, backward)
    trains: dict[str, str] = {}
    others: dict[str, str] = {}
    for module, numbers in members.items():
        reached = backward.deposits.intersection(numbers)
        if reached:
            in_vain = " (discarded)" if reached <= thrown else "" if reached & trained(trace) else " (unused)"
            trains[module] = f"{len(reached)}/{len(numbers)}{in_vain}"
        elif op is not None and trace.graph.depends(op.id).intersection(numbers):
            others[module] = _why_not(trace, numbers)
    steps = steps_using(trace, backward.id)
    consumed: dict[str, None] = {}
    for optimizer in _users(trace, backward):
        site = next((s.site for s in reversed(steps) if s.optimizer == optimizer.id), None)
        consumed[f"{optimizer.name}.step" + (f" :{site.line}" if site is not None else "")] = None
    split = terms(trace.graph, op.id) if op is not None else []
    return LossRow(
        backward.name,
        op.site if op is not None and op.site is not None else backward.site,
        expressions.text(op.site) if op is not None else "",
        trains,
        others,
        list(consumed),
        [wording.term(term) for term in split if len(split) > 1],
    )


def _discarded(trace: Trace, backward: Backward) -> set[int]:
    """Where this line only ever left gradient that was cleared before any step."""
    same = {b.id for b in trace.backwards if (b.site, b.library) == (backward.site, backward.library)}
    steps = steps_using(trace, *same)
    if any(same.intersection(s.consumed.get(n, ())) for s in steps for n in s.assigned):
        return set()  # Carried over by hand to the parameters that a step moves.
    clears = clears_of(trace, *same)
    cleared = {n for clear in clears for n, ids in clear.discarded.items() if same.intersection(ids)}
    return cleared - {n for step in steps for n, ids in step.consumed.items() if same.intersection(ids)}


def _matrix(trace: Trace, rows: list[Row]) -> list[MatrixRow]:
    names = {row.key: wording.term(row.term) for row in rows if row.term is not None}
    return [
        MatrixRow(
            row.loss,
            names.get(row.key, ""),
            (row.term.site if row.term is not None else None) or row.site,
            {module: _cell(cell) for module, cell in row.cells.items()},
            {module: {names.get(k, k): v for k, v in found.items()} for module, found in row.cosines.items()},
            _not_reached(trace, row),
        )
        for row in rows
    ]


def _not_reached(trace: Trace, row: Row) -> dict[str, str]:
    roots = row.term.ops if row.term is not None else (row.root,)
    known = [root for root in roots if root is not None]
    depends = frozenset[int]().union(*(trace.graph.depends(root) for root in known))
    reach = frozenset[int]().union(*(trace.graph.reach(root) for root in known))
    return {
        module: ZERO if reach & set(numbers) else _why_not(trace, numbers)
        for module, numbers in modules(trace).items()
        if module not in row.cells and depends.intersection(numbers)
    }


def _cell(cell: Cell) -> MatrixCell:
    discarded = [f"{os.path.basename(site.file)}:{site.line}" for site in cell.discarded_by]
    return MatrixCell(cell.reached, cell.total, cell.norm, cell.share, cell.consumed_by, discarded)


def _why_not(trace: Trace, numbers: list[int]) -> str:
    """Why a loss that depends on a module in value does not train it."""
    copies = [(number, copy) for number in numbers if (copy := _refreshed(trace).get(number)) is not None]
    if copies:
        site = max((copy for _, copy in copies), key=lambda copy: copy.order).site
        line = f" :{site.line}" if site is not None else ""
        sources = {n for number, copy in copies if copy.site == site for n in copy.pairs.get(number, copy.sources)}
        return f"copied from {wording.whom(trace, sources)}{line}"
    found = [trace.parameter(n) for n in numbers]
    frozen = not any(p.requires_grad for p in found) or all(p.frozen_last for p in found)
    return "frozen" if frozen else "constant here"


@worked_out_once
def _refreshed(trace: Trace) -> dict[int, Copy]:
    """By parameter the latest copy of others into it: a loop over parameters makes one for each."""
    return {number: copy for copy in trace.copies if copy.sources for number in copy.into}


def _source(findings: list[Finding]) -> dict[str, dict[int, str]]:
    out: dict[str, dict[int, str]] = {}
    for finding in findings:
        for site in [finding.site, *(label.site for label in finding.labels)]:
            if site is not None:
                rows = out.setdefault(site.file, {})
                for line in range(site.line, min(max(site.end_line, site.line), site.line + 8) + 1):
                    rows[line] = files.line_at(site.file, line)
    return out
