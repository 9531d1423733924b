"""Weights that were put aside without a copy, and used after they had moved."""

from __future__ import annotations

from dataclasses import dataclass, field

from whygrad.trace.graph import Kind, Op
from whygrad.trace.operations import RANDOM
from whygrad.trace.site import Site
from whygrad.trace.trace import Trace


@dataclass(slots=True)
class Snapshot:
    """The parameters' own memory, read at one place and applied by a layer at a later time."""

    taken: Site
    used: Op
    """A layer that applied it after a step had moved the parameters."""
    parameters: set[int] = field(default_factory=set)


def snapshots(trace: Trace) -> list[Snapshot]:
    """Only where a loss is computed from what they give: whoever acts with them may well mean the latest weights."""
    found: dict[Site, Snapshot] = {}
    for used in _compared(trace):
        for _, aside in trace.graph.operands(used):
            number = _whose(trace, aside)
            if number is None or aside.site is None:
                continue
            if any(aside.id <= s.serial < used.id and s.consumed.get(number) for s in trace.steps):
                found.setdefault(aside.site, Snapshot(aside.site, used)).parameters.add(number)
    return list(found.values())


def _compared(trace: Trace) -> list[Op]:
    """Layers whose output enters a loss as a value, not by way of an action that was drawn or chosen."""
    stack = [backward.root for backward in trace.rooted if backward.root is not None]
    seen, found = set(stack), []
    while stack:
        op = trace.graph.ops.get(stack.pop())
        if op is None or op.kind is Kind.DISCRETE or op.name in RANDOM:
            continue
        if op.layer:
            found.append(op)
        for operand in op.inputs:
            if not operand.selector and operand.op not in seen:
                seen.add(operand.op)
                stack.append(operand.op)
    return found


def _whose(trace: Trace, op: Op) -> int | None:
    """The parameter that this is, without its history: how `state_dict()` hands it out."""
    if op.name != "detach" or len(op.inputs) != 1:
        return None
    source = trace.graph.ops.get(op.inputs[0].op)
    return source.parameter if source is not None else None
