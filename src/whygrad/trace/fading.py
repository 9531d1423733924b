"""Terms of a loss that carry gradient in one part of the run and none in another."""

from __future__ import annotations

from dataclasses import dataclass

from whygrad.trace.ledger import Backward
from whygrad.trace.spells import Spell
from whygrad.trace.terms import Term, terms
from whygrad.trace.trace import Trace

OFTEN = 2
"""Looks in a row at a term without gradient: one may be the first update of something."""


@dataclass(frozen=True, slots=True)
class Faded:
    """A part of the run, at its start or at its end, in which a term carried no gradient."""

    parameters: frozenset[int]
    """What it carried gradient to in the other part."""
    when: Spell


Looks = list[tuple[Backward, frozenset[int]]]
"""At each traced backward of one loss: what a term carried gradient to, of all that optimizers hold."""


def faded(trace: Trace, backward: Backward, term: Term) -> Faded | None:
    """The part of the run that this backward is in, if the term carries no gradient there, and does elsewhere."""
    looks = _looks(trace).get((backward.site, term.site), [])
    index = next((i for i, (found, _) in enumerate(looks) if found is backward), None)
    if index is None or looks[index][1] or not any(reach for _, reach in looks):
        return None
    start = end = index
    while start and not looks[start - 1][1]:
        start -= 1
    while end + 1 < len(looks) and not looks[end + 1][1]:
        end += 1
    if end - start + 1 < OFTEN or (start and end + 1 < len(looks)):
        return None
    updates = [found.update + 1 for found, _ in looks]
    before = updates[start - 1] if start else None
    after = updates[end + 1] if end + 1 < len(updates) else None
    times = end - start + 1
    parameters = frozenset[int]().union(*(reach for _, reach in looks))
    return Faded(parameters, Spell(updates[start], updates[end], before, after, times, times))


def telling(trace: Trace) -> list[Backward]:
    """Of each term that carries gradient in a part of the run only, the last backward of the part that lacks it."""
    found: dict[int, Backward] = {}
    for looks in _looks(trace).values():
        alive = [index for index, (_, reach) in enumerate(looks) if reach]
        if alive and alive[0] >= OFTEN and alive[-1] == len(looks) - 1:
            found[looks[alive[0] - 1][0].id] = looks[alive[0] - 1][0]
        elif alive and alive[-1] + OFTEN < len(looks):
            found[looks[-1][0].id] = looks[-1][0]
    return list(found.values())


def _looks(trace: Trace) -> dict[object, Looks]:
    return trace.once("terms by update", lambda: _find_looks(trace))


def _find_looks(trace: Trace) -> dict[object, Looks]:
    out: dict[object, Looks] = {}
    held = frozenset(trace.holders)
    for backward in trace.rooted:
        assert backward.root is not None
        if backward.how == "backward":
            for term in terms(trace.graph, backward.root):
                out.setdefault((backward.site, term.site), []).append((backward, term.reach(trace.graph) & held))
    return out
