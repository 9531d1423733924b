"""Who trains whom: losses, split into their terms, by modules."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from whygrad.trace.grouping import modules
from whygrad.trace.ledger import Backward
from whygrad.trace.site import Site
from whygrad.trace.terms import Term, terms
from whygrad.trace.trace import Trace, worked_out_once
from whygrad.trace.uses import alike, clears_of, steps_using


@dataclass(slots=True)
class Cell:
    """One term of a loss and one module."""

    reached: int
    """Parameters that gradient gets to."""
    total: int
    norm: float | None = None
    share: float | None = None
    """Of the sum of the terms' gradient norms on this module."""
    consumed_by: list[str] = field(default_factory=list)
    discarded_by: list[Site] = field(default_factory=list)
    """Clearings that threw it away before any step."""


@dataclass(slots=True)
class Row:
    """A term of a loss; a loss of one term is its own."""

    loss: str
    site: Site | None
    term: Term | None
    """None when the loss is not a sum."""
    root: int | None = None
    """The loss in the shadow graph."""
    cells: dict[str, Cell] = field(default_factory=dict)
    cosines: dict[str, dict[str, float]] = field(default_factory=dict)
    """By module, then by the key of another term: the angle between the two gradients."""

    @property
    def key(self) -> str:
        return str(self.term.op) if self.term is not None else ""


def matrix(trace: Trace) -> list[Row]:
    """For each loss its latest traced backward, term by term."""
    last: dict[object, Backward] = {}
    for backward in trace.rooted:
        if backward.how == "backward":
            key = (backward.site, backward.library, backward.made)
            if key not in last or backward.squares or not last[key].squares:
                last[key] = backward
    members = modules(trace)
    return [row for backward in last.values() for row in _rows(trace, backward, members)]


def _rows(trace: Trace, backward: Backward, members: dict[str, list[int]]) -> list[Row]:
    assert backward.root is not None
    parts = terms(trace.graph, backward.root)
    site = trace.graph[backward.root].site or backward.site
    folded = not backward.deposits - backward.zeros <= trace.graph.reach(backward.root)
    if folded or len(parts) < 2:
        row = Row(backward.name, site, None, backward.root)
        for module, numbers in members.items():
            reached = backward.deposits.intersection(numbers)
            _fill(trace, backward, row, module, numbers, reached, parts[0] if len(parts) == 1 else None)
        return [row]
    rows = []
    for part in parts:
        row = Row(backward.name, site, part, backward.root)
        reach = part.reach(trace.graph)
        for module, numbers in members.items():
            _fill(trace, backward, row, module, numbers, reach.intersection(numbers), part)
        rows.append(row)
    _shares(backward, parts, rows, members)
    return rows


def _fill(
    trace: Trace,
    backward: Backward,
    row: Row,
    module: str,
    numbers: list[int],
    reached: frozenset[int],
    part: Term | None,
) -> None:
    if not reached:
        return
    cell = Cell(len(reached), len(numbers))
    mine = {b.id for b in alike(trace, backward)}
    cell.consumed_by = _consumed_by(trace, mine, reached)
    if not cell.consumed_by:
        cell.discarded_by = _discarded_by(trace, mine, reached)
    if part is not None and backward.squares:
        cell.norm = math.sqrt(sum(backward.squares.get((part.op, n), 0.0) for n in numbers))
        cell.share = 1.0
        measured = alike(trace, backward)
        everywhere = [n for group in modules(trace).values() for n in group]
        if not cell.norm and not _ever(measured, trace, part, numbers) and _ever(measured, trace, part, everywhere):
            return  # Connected, and the gradient is exactly zero every time it trains others.
    row.cells[module] = cell


def _consumed_by(trace: Trace, mine: set[int], reached: frozenset[int]) -> list[str]:
    """Optimizers that used what these backwards left on the parameters, as they came."""
    found: dict[int, None] = {}
    for step in steps_using(trace, *mine):
        used = step.optimizer in found or any(mine.intersection(step.consumed.get(n, ())) for n in reached)
        if used:
            found[step.optimizer] = None
    names = _names(trace)
    return list(dict.fromkeys(names[number] for number in found))


def _discarded_by(trace: Trace, mine: set[int], reached: frozenset[int]) -> list[Site]:
    lost = [c.site for c in clears_of(trace, *mine) if any(mine.intersection(c.discarded.get(n, ())) for n in reached)]
    return [site for site in dict.fromkeys(lost) if site is not None]


@worked_out_once
def _names(trace: Trace) -> dict[int, str]:
    return {optimizer.id: optimizer.name for optimizer in trace.optimizers}


def _ever(mine: list[Backward], trace: Trace, part: Term, numbers: list[int]) -> bool:
    """Whether the term gave any of these a gradient in some measured backward of the loss."""
    for backward in mine:
        if backward.squares and backward.root is not None and backward.root in trace.graph.ops:
            for other in terms(trace.graph, backward.root):
                if other.site == part.site and any(backward.squares.get((other.op, n)) for n in numbers):
                    return True
    return False


def _shares(backward: Backward, parts: list[Term], rows: list[Row], members: dict[str, list[int]]) -> None:
    """How the terms divide each module's gradient among them, and at what angles."""
    if not backward.squares:
        return
    for module, numbers in members.items():
        norms = [row.cells[module].norm or 0.0 if module in row.cells else 0.0 for row in rows]
        total = sum(norms)
        for row, norm in zip(rows, norms, strict=True):
            if module in row.cells:
                row.cells[module].share = norm / total if total else 0.0
        for i, one in enumerate(parts):
            for j, two in enumerate(parts):
                if i < j and norms[i] and norms[j]:
                    product = sum(backward.products.get((one.op, two.op, n), 0.0) for n in numbers)
                    cosine = product / (norms[i] * norms[j])
                    rows[i].cosines.setdefault(module, {})[str(two.op)] = cosine
                    rows[j].cosines.setdefault(module, {})[str(one.op)] = cosine
