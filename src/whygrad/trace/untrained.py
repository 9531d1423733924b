"""Parameters that gradient came to in one part of the run only."""

from __future__ import annotations

from dataclasses import dataclass

from whygrad.trace.cuts import cuts
from whygrad.trace.ledger import Parameter
from whygrad.trace.membership import stale
from whygrad.trace.trace import Trace, worked_out_once

PATIENT = 8
"""Looks without a gradient before the first one: networks that take turns wait for less."""
LEAST = 20
PART = 0.25
"""Updates without gradient, and their share of the run, that are worth a word."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the run, at its start or at its end, in which no gradient came to parameters that had some else."""

    parameters: frozenset[int]
    over: bool
    """Training has ended for them; else it began late."""
    update: int
    """The latest look that found a gradient, or the first one."""
    frozen: bool
    """They did not ask for a gradient at the end."""


@worked_out_once
def phases(trace: Trace) -> list[Phase]:
    """Those of which no finding tells the cause, together where they share the update."""
    explained = {n for cut in cuts(trace) for n in cut.parameters} | {n for s in stale(trace) for n in s.old}
    found: dict[tuple[bool, int, bool], set[int]] = {}
    for parameter in trace.parameters:
        if parameter.id in trace.holders and parameter.id not in explained and parameter.consumed:
            if parameter.absent and _long(trace, trace.updates - parameter.last):
                found.setdefault((True, parameter.last, parameter.frozen_last), set()).add(parameter.id)
            elif _late(trace, parameter):
                found.setdefault((False, parameter.first, False), set()).add(parameter.id)
    return [Phase(frozenset(numbers), *key[:2], key[2]) for key, numbers in found.items()]


def _late(trace: Trace, parameter: Parameter) -> bool:
    return parameter.waited >= PATIENT and _long(trace, parameter.first)


def _long(trace: Trace, updates: int) -> bool:
    return updates >= max(LEAST, PART * trace.updates)
