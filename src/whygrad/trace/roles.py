"""What each network is for, inferred from what happens to it: behaviour first, names second."""

from __future__ import annotations

import re

from whygrad.trace.anatomy import bare, formula
from whygrad.trace.consumption import trained
from whygrad.trace.crosstalk import judged, judgements
from whygrad.trace.grouping import modules
from whygrad.trace.leaks import predicted
from whygrad.trace.likeness import score_like
from whygrad.trace.losses import latest
from whygrad.trace.operations import PRODUCTS
from whygrad.trace.trace import Trace
from whygrad.trace.workers import originals

NAMED = (
    ("target", re.compile(r"target|targ|tgt", re.IGNORECASE)),
    ("reference", re.compile(r"(^|[._])(ref|reference|teacher|frozen|old)([._]|$)", re.IGNORECASE)),
)


def roles(trace: Trace) -> dict[str, str]:
    """Role by module; what the user stated wins."""
    members = modules(trace)
    out: dict[str, str] = {}
    values = set(predicted(trace))
    policies = _policies(trace, values)
    sources = _sources(trace, members)
    for module, numbers in members.items():
        found = _role(trace, module, numbers, values, policies, sources)
        if found:
            out[module] = found
    acting = any(role == "actor" for role in out.values())
    for module, role in out.items():
        if role == "critic" and not acting and module in sources.values():
            out[module] = "online"
    out.update({name: role for name, role in trace.roles.items() if name in members})
    return out


def _sources(trace: Trace, members: dict[str, list[int]]) -> dict[str, str]:
    """Which module another one is copied from."""
    owner = {n: module for module, numbers in members.items() for n in numbers}
    out: dict[str, str] = {}
    pairs = [(n, s) for c in trace.copies for n in c.into for s in c.pairs.get(n, c.sources)]
    pairs += [(p.id, s) for p in trace.parameters for s in p.derived_from]
    for into, source in pairs:
        if into in owner and source in owner and owner[into] != owner[source]:
            out.setdefault(owner[into], owner[source])
    return out


def _policies(trace: Trace, values: set[int]) -> set[int]:
    """Parameters that a log-probability or a judgement by another network trains."""
    graph = trace.graph
    found: set[int] = set()
    for backward in latest(trace):
        assert backward.root is not None
        for op in formula(graph, backward.root):
            if op.name in ("mul", "cross_entropy", "nll_loss") and op.requires_grad:
                for operand in op.inputs:
                    if op.passes(operand) and score_like(graph, operand.op):
                        found |= graph.reach(operand.op)
    for judgement in judgements(trace):
        found |= judgement.learner
    return found | _judged_by_constants(trace, values)


def _judged_by_constants(trace: Trace, values: set[int]) -> set[int]:
    """What is trained through a critic whose weights are constants there, so that no gradient is wasted on them."""
    graph = trace.graph
    found: set[int] = set()
    for backward in latest(trace):
        assert backward.root is not None
        for top in judged(graph, backward.root):
            constants = {n for operand in top.inputs if not top.passes(operand) for n in graph.depends(operand.op)}
            if constants & values:
                found |= graph.reach(top.id) - values
    return found


def _role(
    trace: Trace, module: str, numbers: list[int], values: set[int], policies: set[int], sources: dict[str, str]
) -> str:
    if not trained(trace).intersection(numbers):
        if originals(trace).keys() & set(numbers):
            return "worker"
        moves = any(trace.parameter(n).moved for n in numbers)
        if module in sources:
            return "target" if moves or NAMED[0][1].search(module) else "reference"
        return next((role for role, pattern in NAMED if pattern.search(module)), "")
    if policies.intersection(numbers):
        return "actor" if not values.intersection(numbers) else "actor and critic"
    if len(numbers) == 1 and len(trace.parameter(numbers[0]).shape) <= 1 and _multiplies(trace, numbers[0]):
        return "temperature"
    return "critic" if values.intersection(numbers) else ""


def _multiplies(trace: Trace, number: int) -> bool:
    """A bare parameter that a loss multiplies with something measured."""
    graph = trace.graph
    for backward in latest(trace):
        assert backward.root is not None
        for op in formula(graph, backward.root):
            if op.name in PRODUCTS and any(
                op.passes(i) and number in graph.reach(i.op) and bare(graph, i.op) for i in op.inputs
            ):
                return True
    return False
