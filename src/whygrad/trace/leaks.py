"""Gradient that flows where a constant was meant, and that a step consumes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from whygrad.trace.anatomy import Summand, bare, formula, heads, layer, summands, tops
from whygrad.trace.errors import EVEN, Error, errors
from whygrad.trace.graph import Graph, Op
from whygrad.trace.ledger import Backward, Optimizer
from whygrad.trace.likeness import probability_like, score_like
from whygrad.trace.losses import duration, kept, latest
from whygrad.trace.operations import CONTRACTIONS, PRODUCTS
from whygrad.trace.spells import Spell
from whygrad.trace.trace import Trace
from whygrad.trace.uses import steps_using


@dataclass(slots=True)
class Leak:
    """One path of gradient that should not be there."""

    backward: Backward
    op: Op
    """Where the constant was meant to enter."""
    source: Op
    """The value that should have been cut."""
    parameters: frozenset[int]
    """What the step consumes of it."""
    optimizers: list[Optimizer]
    when: Spell | None = None
    """The part of the run that shows it, once that has been asked for."""


def consumed(trace: Trace, backward: Backward) -> dict[int, set[int]]:
    """Parameters on which some step used what this backward deposited, with the optimizers that did."""
    return trace.once(("consumed", backward.id), lambda: _consumed(trace, backward))


def _consumed(trace: Trace, backward: Backward) -> dict[int, set[int]]:
    out: dict[int, set[int]] = {}
    for step in steps_using(trace, backward.id):
        for number, ids in step.consumed.items():
            if backward.id in ids:
                out.setdefault(number, set()).add(step.optimizer)
    return out


def leak_onto(
    trace: Trace, backward: Backward, op: Op, source: Op, reach: Iterable[int], *, raised: bool = False
) -> Leak | None:
    """The leak onto these parameters, if a step consumes it (or none could, because this backward raised)."""
    used = consumed(trace, backward)
    parameters = frozenset(reach) if raised else frozenset(reach) & set(used)
    if not parameters:
        return None
    optimizers = {o for n in parameters for o in used.get(n, ())}
    return Leak(backward, op, source, parameters, [o for o in trace.optimizers if o.id in optimizers])


def lasting(trace: Trace, leaks: list[Leak]) -> Leak | None:
    """What several backwards and losses show of one leak, put together; None where it was a passing state."""
    when = duration(trace, (leak.backward for leak in leaks))
    if when is None:
        return None
    inside = [leak for leak in leaks if when.first <= leak.backward.update + 1 <= when.last]
    last = max(inside, key=lambda leak: leak.backward.order)
    parameters = frozenset[int]().union(*(leak.parameters for leak in inside))
    optimizers = {o.id: o for leak in inside for o in leak.optimizers}
    return replace(last, parameters=parameters, optimizers=list(optimizers.values()), when=when)


def by_loss(trace: Trace, leaks: Iterable[Leak]) -> list[Leak]:
    """One leak per loss, with the part of the run that shows it."""
    losses: dict[object, list[Leak]] = {}
    for leak in leaks:
        losses.setdefault((leak.backward.site, leak.backward.made), []).append(leak)
    found = (lasting(trace, group) for group in losses.values())
    return [leak for leak in found if leak is not None]


def attached_targets(trace: Trace) -> list[tuple[Leak, Error]]:
    """Targets of a regression through which a step's gradient flows."""
    return trace.once("attached targets", lambda: _attached_targets(trace))


def _attached_targets(trace: Trace) -> list[tuple[Leak, Error]]:
    out: list[tuple[Leak, Error]] = []
    own = predicted(trace)
    for backward in kept(trace):
        assert backward.root is not None
        graph = trace.graph
        for error in errors(graph, backward.root):
            for summand in error.target:
                if not _is_target(trace, error, summand, own):
                    continue
                source = graph[summand.op]
                alone = error.op if layer(graph, source) else source
                meeting = graph[summand.joined] if summand.joined != summand.op else alone
                leak = leak_onto(trace, backward, meeting, source, summand.reach(graph))
                if leak is not None:
                    out.append((leak, error))
    return out


def _is_target(trace: Trace, error: Error, summand: Summand, own: dict[int, set[object]]) -> bool:
    """A network's output, with gradient, on the side that was to be constant."""
    graph = trace.graph
    reach = summand.reach(graph)
    if not reach or not tops(graph, summand.op):
        return False
    inverted = error.inverted(graph)
    if inverted:
        return not any(own.get(n) for n in inverted)  # Else it is the second half of a symmetric error.
    if not error.predicts(graph):
        return False
    if error.bootstraps:
        return summand.scaled or len(error.target) == 1 or any(not s.reach(graph) for s in error.target)
    return reach.isdisjoint(error.predicts(graph)) and _regressed_elsewhere(graph, error, reach, own)


def _regressed_elsewhere(graph: Graph, error: Error, reach: frozenset[int], own: dict[int, set[object]]) -> bool:
    """It is the prediction of another error, and what is predicted here is not."""
    here = error.op.site
    elsewhere = any(own.get(n, set()) - {here} for n in reach)
    return elsewhere and not any(own.get(n, set()) - {here} for n in error.predicts(graph))


def predicted(trace: Trace) -> dict[int, set[object]]:
    """Parameters that are fitted to some target, with the places of the errors that do it."""
    return trace.once("predicted", lambda: _predicted(trace))


def _predicted(trace: Trace) -> dict[int, set[object]]:
    out: dict[int, set[object]] = {}
    for backward in latest(trace):
        assert backward.root is not None
        for error in errors(trace.graph, backward.root):
            if error.target:
                for number in error.predicts(trace.graph):
                    out.setdefault(number, set()).add(error.op.site)
    return out


def attached_weights(trace: Trace) -> Iterator[Leak]:
    """Weights of log-probabilities that carry a critic's gradient."""
    graph = trace.graph
    for backward in kept(trace):
        assert backward.root is not None
        for op in formula(graph, backward.root):
            if op.name not in PRODUCTS and op.name not in CONTRACTIONS:
                continue
            operands = [i.op for i in op.inputs if op.passes(i) and not i.selector]
            if len(operands) != 2:
                continue
            for score, weight in (operands, operands[::-1]):
                yield from _weighs(trace, backward, op, score, weight)


def _weighs(trace: Trace, backward: Backward, op: Op, score: int, weight: int) -> Iterator[Leak]:
    graph = trace.graph
    if not score_like(graph, score) or not tops(graph, score) or score_like(graph, weight):
        return
    for summand in summands(graph, weight):
        if not summand.open or not tops(graph, summand.op) or probability_like(graph, summand.op):
            continue
        leak = leak_onto(trace, backward, op, graph[summand.op], summand.reach(graph) - graph.reach(score))
        if leak is not None:
            yield leak


def multiplier_terms(trace: Trace) -> Iterator[tuple[Leak, frozenset[int]]]:
    """`-alpha * (log_prob + target_entropy)`: a multiplier's loss that moves the network it measures."""
    graph = trace.graph
    for backward in kept(trace):
        assert backward.root is not None
        ops = formula(graph, backward.root)
        squared = {inner.id for inner in heads(graph, [op.id for op in ops if op.name in EVEN])}
        for op in ops:
            if op.name not in PRODUCTS or op.id in squared:
                continue  # A deviation over its width: part of a likelihood.
            operands = [i.op for i in op.inputs if op.passes(i) and not i.selector]
            if len(operands) != 2:
                continue
            for multiplier, measured in (operands, operands[::-1]):
                leak = _constraint(trace, backward, op, multiplier, measured)
                if leak is not None:
                    yield leak, graph.reach(multiplier)


def _constraint(trace: Trace, backward: Backward, op: Op, multiplier: int, measured: int) -> Leak | None:
    """A bare parameter times a difference between a measured quantity and a limit, both of them trained by steps."""
    graph = trace.graph
    if not bare(graph, multiplier) or not tops(graph, measured):
        return None
    parts = summands(graph, measured)
    limits = [s for s in parts if s.number or (not s.reach(graph) and not tops(graph, s.op, gradient=False))]
    if len(parts) < 2 or not limits:
        return None
    used = consumed(trace, backward)
    own = graph.reach(multiplier)
    ascending = any(o.maximizes for n in own for o in trace.holders.get(n, []))
    if ascending or not own.intersection(used):
        return None
    return leak_onto(trace, backward, op, graph[measured], graph.reach(measured) - own)
