"""Terms of a loss that carry gradient in one part of the run and none in another."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from whygrad.trace.ledger import Backward
from whygrad.trace.site import Site
from whygrad.trace.spells import Spell
from whygrad.trace.terms import Term, terms
from whygrad.trace.trace import Trace, worked_out_once

OFTEN = 2
"""Looks in a row at a term without gradient: one may be the first update of something."""


@dataclass(frozen=True, slots=True)
class Faded:
    """A part of the run, at its start or at its end, in which a term left out what it carried gradient to elsewhere."""

    parameters: frozenset[int]
    """What it carried gradient to in the other part, and here depends on in value only."""
    when: Spell
    whole: bool
    """Here it carries gradient to nothing."""


@dataclass(frozen=True, slots=True)
class Look:
    """A term at one traced backward, of all that optimizers hold."""

    backward: Backward
    reach: frozenset[int]
    """What it carried gradient to."""
    depends: frozenset[int]
    """What its value depended on."""


def faded(trace: Trace, backward: Backward, term: Term) -> Faded | None:
    """The part of the run that this backward is in, if the term carries less gradient there than elsewhere."""
    looks = _looks(trace).get(_place(trace, backward, term), [])
    index = next((i for i, look in enumerate(looks) if look.backward is backward), None)
    if index is None:
        return None
    lost = _lost(looks)
    if not lost[index]:
        return None
    start = end = index
    while start and lost[start - 1]:
        start -= 1
    while end + 1 < len(looks) and lost[end + 1]:
        end += 1
    if end - start + 1 < OFTEN or (start and end + 1 < len(looks)):
        return None
    updates = [look.backward.update + 1 for look in looks]
    before = updates[start - 1] if start else None
    after = updates[end + 1] if end + 1 < len(updates) else None
    times = end - start + 1
    parameters = lost[index].intersection(*lost[start : end + 1])
    when = Spell(updates[start], updates[end], before, after, times, times)
    return Faded(parameters, when, not looks[index].reach) if parameters else None


def telling(trace: Trace) -> list[Backward]:
    """Of each term that carries gradient in a part of the run only, the last backward of the part that lacks it."""
    found: dict[int, Backward] = {}
    for looks in _looks(trace).values():
        lost = _lost(looks)
        alive = [index for index, missing in enumerate(lost) if not missing]
        if alive and alive[0] >= OFTEN and alive[-1] == len(looks) - 1:
            found[looks[alive[0] - 1].backward.id] = looks[alive[0] - 1].backward
        elif alive and alive[-1] + OFTEN < len(looks):
            found[looks[-1].backward.id] = looks[-1].backward
    return list(found.values())


def _lost(looks: list[Look]) -> list[frozenset[int]]:
    """At each look, what the term reaches at others and here not: by gradient not at all, or in value only."""
    ever = frozenset[int]().union(*(look.reach for look in looks))
    return [(ever - look.reach) & look.depends if look.reach else ever for look in looks]


def _looks(trace: Trace) -> dict[object, list[Look]]:
    return trace.once("terms by update", lambda: _find_looks(trace))


def _find_looks(trace: Trace) -> dict[object, list[Look]]:
    out: dict[object, list[Look]] = {}
    held, graph = frozenset(trace.holders), trace.graph
    for backward in trace.rooted:
        assert backward.root is not None
        if backward.how == "backward":
            for term in terms(graph, backward.root):
                depends = frozenset[int]().union(*(graph.depends(op) for op in term.ops))
                look = Look(backward, term.reach(graph) & held, depends & held)
                out.setdefault(_place(trace, backward, term), []).append(look)
    return out


def _place(trace: Trace, backward: Backward, term: Term) -> object:
    """Its place in the sum that it is a summand of: what stands there may be made on another line now and then.

    So may a whole loss, if one expression takes the place of another once and for all.
    """
    if term.operand is None and backward.site in _replaced(trace):
        return backward.site
    return backward.site, term.operand or term.site


@worked_out_once
def _replaced(trace: Trace) -> frozenset[Site | None]:
    """Calls of backward that one loss comes to up to some update, and another one from then on."""
    made: dict[Site | None, list[Site | None]] = {}
    for backward in trace.rooted:
        if backward.how == "backward" and backward.root is not None:
            made.setdefault(backward.site, []).append(trace.graph[backward.root].site)
    return frozenset(site for site, places in made.items() if sum(a != b for a, b in pairwise(places)) == 1)
