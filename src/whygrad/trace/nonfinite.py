"""Where a NaN or an Inf that reached the loss or the gradient was made."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from whygrad.trace.graph import Graph, Op
from whygrad.trace.ledger import Backward
from whygrad.trace.operations import AVERAGES, DIVISIONS, PRODUCTS
from whygrad.trace.site import Site
from whygrad.trace.trace import Trace

LOGARITHMS = frozenset({"log", "log1p", "logit", "xlogy", "atanh", "lgamma"})
ON_PURPOSE = frozenset({"masked_fill", "fill", "where", "copy", "input", "store", "triu", "tril"})
"""Operations that put a chosen value somewhere: minus infinity for what is masked out."""
EDGED = frozenset({"sqrt", "rsqrt", "std", "var", "acos", "asin", "atanh", "log", "norm", "div", "pow"})
MIXED = PRODUCTS | {"nansum"}
THROUGH = frozenset("sum to count_nonzero mean unsqueeze expand reshape select squeeze".split())
"""What leaves a mask one, or sums it up."""
QUOTIENTS = DIVISIONS | AVERAGES


@dataclass(slots=True)
class Origin:
    """The first value that was not finite, and what it did."""

    backward: Backward
    op: Op
    kind: str
    """`log`, `mask` or `other`."""
    special: str
    """`nan`, `inf`, or `gradient` when the loss is finite and only its gradient is not."""
    cause: Op | None = None
    """An infinite operand that was put there on purpose, or overflowed, before."""
    constant: bool = False
    """What made it lies on the way to this value, which enters the loss as a constant."""
    late: bool = False
    """Nothing was traced then: the operation was found by its place in autograd's graph."""


def origins(trace: Trace) -> list[Origin]:
    return trace.once("origins", lambda: _find(trace))


def _find(trace: Trace) -> list[Origin]:
    """The first backward that went wrong: what follows are its consequences."""
    late = _late(trace)
    for backward in trace.rooted:
        if late is not None and trace.failure is not None and backward.update >= trace.failure.update:
            return [late]
        assert backward.root is not None
        wrong_loss = backward.value is not None and not math.isfinite(backward.value)
        wrong_gradient = any(not math.isfinite(size) for size in backward.largest.values())
        if not wrong_loss and not wrong_gradient:
            continue
        if backward.poisoned:
            break
        found = _forward(trace.graph, backward) if wrong_loss else _backward(trace.graph, backward)
        return [found] if found is not None else []
    return [late] if late is not None else []


def _late(trace: Trace) -> Origin | None:
    """A failure after the window: the operation was found by its place in autograd's graph."""
    failure = trace.failure
    backward = next((b for b in trace.rooted if failure is not None and b.id == failure.backward), None)
    if failure is None or failure.op is None or backward is None or failure.op not in trace.graph.ops:
        return None
    op = trace.graph[failure.op]
    kind = "mask" if _masks(trace.graph, op) else "log" if op.name in LOGARITHMS else "other"
    at = replace(backward, update=failure.update, value=float(failure.special))
    return Origin(at, op, kind, failure.special, constant=failure.constant, late=True)


@dataclass(frozen=True, slots=True)
class Unexplained:
    """Losses that were not finite, and nobody saw where that began."""

    site: Site | None
    update: int
    deposits: frozenset[int]
    """What the loss reaches, where it was traced."""
    ruined: bool
    """Weights were not finite, too."""


def unexplained(trace: Trace) -> Unexplained | None:
    if origins(trace):
        return None
    failure, broken = trace.failure, ruined(trace)
    found = next((b for b in trace.backwards if b.poisoned), None)
    if failure is not None and (found is None or failure.update < found.update):
        return Unexplained(failure.site, failure.update, frozenset(), broken)
    return Unexplained(found.site, found.update, found.deposits, broken) if found is not None else None


def ruined(trace: Trace) -> bool:
    """Weights that are trained were seen not to be finite, at some loss or at the end."""
    seen = (trace.failure is not None and trace.failure.ruined is not None) or any(b.poisoned for b in trace.backwards)
    return seen or any(p.finite is False for p in trace.parameters if p.consumed)


def spared(trace: Trace) -> bool:
    """All weights that are trained were found to be finite at every such loss, and at the end."""
    trained = [p for p in trace.parameters if p.consumed]
    return bool(trained) and not ruined(trace) and all(p.finite is True for p in trained)


def applied(trace: Trace, origin: Origin) -> bool:
    """Whether a step used that loss, as far as can be told: a mean of nothing leaves a gradient of zero, not of NaN."""
    if origin.late:
        return origin.op.name in AVERAGES
    return any(origin.backward.id in ids for step in trace.steps for ids in step.consumed.values())


def recovered(trace: Trace) -> int | None:
    """The update from which on weights and losses were finite again, as far as anybody looked."""
    failure = trace.failure
    whole = all(p.finite is True for p in trace.parameters if p.consumed)
    if failure is None or not whole or not ruined(trace):
        return None
    last = max([failure.last, *(b.update for b in trace.backwards if b.poisoned)])
    return last + 1 if last + 1 < trace.updates else None


def suspects(trace: Trace, site: Site | None) -> list[Op]:
    """Operations of the loss that is differentiated there, one per line, with an infinite derivative at some edge."""
    traced = [b for b in trace.rooted if b.site == site]
    ops = trace.graph.carrying(traced[-1].root or 0) if traced else []
    found = {op.site: op for op in ops if op.site is not None and _has_an_edge(op)}
    return list(found.values())


def _has_an_edge(op: Op) -> bool:
    """A power has one below one, and a quotient where it divides by something that can become zero."""
    if op.name == "pow":
        return op.scalar is not None and op.scalar < 1 and op.scalar != 0
    if op.name in DIVISIONS:
        return op.scalar is None
    return op.name in EDGED


def _special(op: Op) -> str:
    return op.facts.special if op.facts is not None else ""


def _forward(graph: Graph, backward: Backward) -> Origin | None:
    """From the loss down along values of the same kind to where the first of them was made."""
    assert backward.root is not None
    wanted = "nan" if backward.value is not None and math.isnan(backward.value) else "inf"
    reached, stack = {backward.root}, [backward.root]
    while stack:
        for _, behind in graph.operands(graph[stack.pop()]):
            if behind.id not in reached and _special(behind) == wanted:
                reached.add(behind.id)
                stack.append(behind.id)
    first = graph[min(reached)]
    if first.id == backward.root and _special(first) != wanted:
        return None
    if wanted == "inf":
        return Origin(backward, first, "log" if first.name in LOGARITHMS else "other", wanted)
    return _nan(graph, backward, first)


def _nan(graph: Graph, backward: Backward, op: Op) -> Origin:
    infinite = [behind for _, behind in graph.operands(op) if _special(behind) == "inf"]
    cause = _maker(graph, infinite[0]) if infinite else None
    if _masks(graph, op):
        return Origin(backward, op, "mask", "nan", cause)
    if cause is not None and cause.name in LOGARITHMS:
        return Origin(backward, cause, "log", "inf")
    if op.name in LOGARITHMS:
        return Origin(backward, op, "log", "nan", cause)
    deliberate = cause is None or cause.name in ON_PURPOSE
    return Origin(
        backward, op if deliberate or cause is None else cause, "other", "nan" if deliberate else "inf", cause
    )


def _maker(graph: Graph, op: Op) -> Op:
    """Where an infinite value was made."""
    while True:
        behind = [found for _, found in graph.operands(op) if _special(found) == "inf"]
        if not behind:
            return op
        op = behind[0]


def _masks(graph: Graph, op: Op) -> bool:
    """Nothing was left to average, or something infinite was multiplied by a zero of a mask."""
    if op.facts is not None and op.facts.empty:
        return True
    operands = [found for _, found in graph.operands(op)]
    if op.name in MIXED:
        return any(is_mask(graph, found) for found in operands)
    return op.name in QUOTIENTS and len(operands) > 1 and is_mask(graph, operands[1])


def is_mask(graph: Graph, op: Op, depth: int = 0) -> bool:
    """Zeros and ones, or their sum."""
    if op.dtype == "bool" or (op.facts is not None and op.facts.mask):
        return True
    first = next((found for _, found in graph.operands(op)), None)
    return op.name in THROUGH and depth < 6 and first is not None and is_mask(graph, first, depth + 1)


def _backward(graph: Graph, backward: Backward) -> Origin | None:
    """The loss is finite: an operation on the way was infinite and then hidden, or has no finite derivative there."""
    assert backward.root is not None
    suspects = [op for op in graph.carrying(backward.root) if op.facts is not None]
    for op in suspects:
        assert op.facts is not None
        if op.facts.special or op.facts.singular:
            return Origin(backward, op, "log" if op.name in LOGARITHMS else "other", "gradient")
    return None
