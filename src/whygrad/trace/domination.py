"""A shared part that learns from one term alone, because the gradients of the others are so much smaller."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from whygrad.trace.grouping import modules
from whygrad.trace.ledger import Backward
from whygrad.trace.site import Site
from whygrad.trace.terms import Term, terms
from whygrad.trace.trace import Trace

Key = Site | int | None


@dataclass(slots=True)
class Dominated:
    module: str
    numbers: list[int]
    backward: Backward
    """The latest one that was measured."""
    ruler: Term
    share: float
    """Of the sum of the terms' gradient norms on the module: the median of what was measured."""
    second: Term
    second_share: float
    measured: int


def dominated(trace: Trace, share: float, enough: int) -> list[Dominated]:
    """Modules between the heads of several terms, of whose gradient one term makes at least this share."""
    losses: dict[object, list[Backward]] = {}
    for backward in trace.rooted:
        if backward.how == "backward" and backward.squares:
            losses.setdefault((backward.site, backward.library, backward.made), []).append(backward)
    out = []
    for group in losses.values():
        if len(group) >= enough:
            out += _of_loss(trace, group, share)
    return out


def _of_loss(trace: Trace, group: list[Backward], least: float) -> list[Dominated]:
    last = group[-1]
    assert last.root is not None
    parts = terms(trace.graph, last.root)
    members = modules(trace)
    reached = {part.op: _modules(members, part.reach(trace.graph)) for part in parts}
    out = []
    for module, numbers in members.items():
        sharing = [part for part in parts if module in reached[part.op] and part.site is not None]
        if len(sharing) < 2:
            continue
        measured = [shares for b in group if (shares := _shares(trace, b, numbers))]
        medians = {p.op: median(found.get(p.site, 0.0) for found in measured) for p in sharing} if measured else {}
        first, second = sorted(sharing, key=lambda part: -medians.get(part.op, 0.0))[:2]
        # Each has a part of its own: this one lies between them.
        heads = reached[first.op] - reached[second.op], reached[second.op] - reached[first.op]
        if medians.get(first.op, 0.0) >= least and all(heads):
            found = (first, medians[first.op], second, medians[second.op], len(measured))
            out.append(Dominated(module, numbers, last, *found))
    return out


def _modules(members: dict[str, list[int]], reach: frozenset[int]) -> set[str]:
    return {module for module, numbers in members.items() if reach.intersection(numbers)}


def _shares(trace: Trace, backward: Backward, numbers: list[int]) -> dict[Key, float]:
    """How the terms divided the gradient of these parameters; empty where it was zero."""
    assert backward.root is not None
    norms: dict[Key, float] = {}
    for part in terms(trace.graph, backward.root):
        square = sum(backward.squares.get((part.op, n), 0.0) for n in numbers)
        norms[part.site] = norms.get(part.site, 0.0) + math.sqrt(square)
    total = sum(norms.values())
    return {key: norm / total for key, norm in norms.items()} if 0.0 < total < math.inf else {}
