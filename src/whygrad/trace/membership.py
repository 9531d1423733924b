"""Who is held by which optimizer, who should be, and who was replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whygrad.trace.consumption import by_hand, consumers, missing, trained
from whygrad.trace.cuts import cuts
from whygrad.trace.graph import Graph
from whygrad.trace.ledger import Backward, Optimizer
from whygrad.trace.losses import latest
from whygrad.trace.operations import EXTREMES, JOINS, SCALINGS, SUMS
from whygrad.trace.terms import PASSING, terms
from whygrad.trace.trace import Trace, worked_out_once

STRAIGHT = SUMS | SCALINGS | PASSING | EXTREMES | JOINS | {"select", "clamp"}
PERSISTENT = 2
"""Backwards that must deposit on the same tensor before it counts as a parameter: an input that
asks for gradient (a gradient penalty, an adversarial example) is a new tensor each time. What was put
into a module in the place of a parameter is one."""


@dataclass(slots=True)
class Unheld:
    """Parameters that get gradient from this backward and belong to no optimizer."""

    optimizer: Optimizer
    backward: Backward
    parameters: set[int]


@dataclass(slots=True)
class Stale:
    """An optimizer whose parameters were replaced by others that the loss uses now."""

    optimizer: Optimizer
    backward: Backward
    old: set[int]
    new: set[int]
    between: set[int]
    """Others that the same statement put in their place, where it runs again and again."""


@worked_out_once
def unexplained(trace: Trace) -> set[int]:
    """Missing parameters for which no cut was found."""
    found = set(missing(trace))
    for cut in cuts(trace):
        found -= cut.parameters
    return found


@worked_out_once
def orphans(trace: Trace) -> dict[int, list[Backward]]:
    """Parameters that no optimizer ever held and gradient keeps arriving at."""
    arrived: dict[int, list[Backward]] = {}
    for backward in trace.rooted:
        for number in backward.deposits:
            parameter = trace.parameter(number)
            if number not in trace.holders and parameter.requires_grad and not parameter.consumed:
                arrived.setdefault(number, []).append(backward)
    return {n: found for n, found in arrived.items() if len(found) >= PERSISTENT or trace.parameter(n).replaced}


@worked_out_once
def stale(trace: Trace) -> list[Stale]:
    """Optimizers that step parameters nobody uses while their replacements collect gradient."""
    new = orphans(trace)
    out: list[Stale] = []
    for optimizer in trace.optimizers:
        old = {n for n in optimizer.parameters if trace.parameter(n).absent and trace.parameter(n).requires_grad}
        replaced = {n for n in new if old & _ancestors(trace, n)} or _same_shapes(trace, set(new), old)
        replaced = replaced or {n for n in new if trace.parameter(n).name in {trace.parameter(o).name for o in old}}
        if not (optimizer.steps and old and replaced):
            continue
        everything = replaced | _replaced_alike(trace, set(new), replaced)
        replaced -= {ancestor for n in replaced for ancestor in _ancestors(trace, n)}
        # The last one: where replacing goes on, data of the first round was still made with the old parameters.
        backward = max((new[n][-1] for n in replaced), key=lambda b: b.order)
        assert backward.root is not None
        if not old & trace.graph.depends(backward.root):
            out.append(Stale(optimizer, backward, old, replaced, everything - replaced))
    return out


def _ancestors(trace: Trace, number: int) -> set[int]:
    """Parameters its first value came from, by any number of copies."""
    ancestors: set[int] = set()
    queue = [number]
    while queue:
        fresh = set(trace.parameter(queue.pop()).derived_from) - ancestors
        ancestors |= fresh
        queue.extend(fresh)
    return ancestors


def _replaced_alike(trace: Trace, new: set[int], replaced: set[int]) -> set[int]:
    sites = {trace.parameter(n).replaced for n in replaced} - {None}
    return {n for n in new if trace.parameter(n).replaced in sites}


def _same_shapes(trace: Trace, new: set[int], old: set[int]) -> set[int]:
    """A rebuilt module: parameters of the same shapes, and the old ones are used no more."""
    # What no name leads to any more has been replaced, maybe by a copy of another network.
    gone = all(trace.parameter(n).lost for n in old)
    fresh = {n for n in new if gone or not trace.parameter(n).loaded}
    wanted = sorted(trace.parameter(n).shape for n in old)
    # Several networks may have been replaced at once, each with a loss of its own.
    for found in (fresh, *(fresh & backward.deposits for backward in trace.rooted)):
        if found and sorted(trace.parameter(n).shape for n in found) == wanted:
            return found
    return set()


@worked_out_once
def unheld(trace: Trace) -> list[Unheld]:
    """Parameters that were meant to train and that no optimizer holds."""
    replaced = {n for s in stale(trace) for n in s.new | s.between}
    alive = trained(trace)
    out: dict[int, Unheld] = {}
    alone = _alone(trace)
    for number, backwards in orphans(trace).items():
        parameter = trace.parameter(number)
        backward = alone.get(number, backwards[-1])
        if number in replaced or parameter.loaded:
            continue
        if number not in alone and not _on_the_way(trace, backward, number, alive):
            continue
        optimizer = _responsible(trace, backward, number)
        if optimizer is not None:
            entry = out.setdefault(optimizer.id, Unheld(optimizer, backward, set()))
            entry.parameters.add(number)
    return list(out.values())


@worked_out_once
def _alone(trace: Trace) -> dict[int, Backward]:
    """Parameters that some term of a loss reaches and nothing else: nobody computes a term that trains nothing."""
    new = {n for n in orphans(trace) if not trace.parameter(n).loaded} - by_hand(trace)
    found: dict[int, Backward] = {}
    lost = missing(trace)
    for backward in latest(trace):
        assert backward.root is not None
        for term in terms(trace.graph, backward.root) if consumers(trace, backward) else ():
            reach = term.reach(trace.graph)
            cut = any(trace.graph.depends(op) & lost for op in term.ops)  # It was to train those, and something cut it.
            if reach & new and not cut and (reach <= new or _scaled_only(trace, backward, reach - new)):
                found.update(dict.fromkeys(reach & new, backward))
    return found


def _scaled_only(trace: Trace, backward: Backward, held: Iterable[int]) -> bool:
    """What is held only scales the outputs: a bare parameter such as a log-std, behind every layer of the term."""
    assert backward.root is not None
    graph, held = trace.graph, set(held)
    layers = [op for op in (graph[n] for n in graph.carriers(backward.root)) if op.layer]
    return not any(_reached(trace, op.inputs) & held for op in layers)


@worked_out_once
def idle(trace: Trace) -> dict[int, list[Backward]]:
    """Parameters that collect gradient beside the trained ones, to no effect: targets and other fixed networks."""
    taken = {n for s in stale(trace) for n in s.new | s.between} | {n for u in unheld(trace) for n in u.parameters}
    taken |= by_hand(trace) | _carried(trace)
    return {number: found for number, found in orphans(trace).items() if number not in taken}


def _carried(trace: Trace) -> set[int]:
    """Parameters whose gradient is carried over by hand and stepped elsewhere: workers, replicas."""
    moved = {i for s in trace.steps for n in s.assigned for i in s.consumed.get(n, ())}
    return {n for b in trace.backwards if b.id in moved for n in b.deposits if n not in trace.holders}


def _on_the_way(trace: Trace, backward: Backward, number: int, alive: frozenset[int]) -> bool:
    """Whether the parameter shares a chain with trained ones.

    What only meets them in the loss (a target, a random network to predict) is meant to stay
    fixed. A bare parameter, never the weight of a layer, was made trainable by hand.
    """
    assert backward.root is not None
    graph = trace.graph
    bare = True
    judging = _judging(graph, backward.root)
    for op in (graph[n] for n in graph.carriers(backward.root)):
        direct = {found.parameter for _, found in graph.operands(op) if found.parameter is not None}
        if number in direct and op.layer:
            bare = False
        if not op.layer and number not in direct:
            continue
        through = _reached(trace, op.inputs)
        if direct & alive and number in through - direct:
            return True
        below = number in direct and op.layer and through & alive - direct
        if below and (trace.parameter(number).companions & set(trace.holders) or op.id not in judging):
            return True
    return bare


def _judging(graph: Graph, root: int) -> set[int]:
    """Operations whose result is minimised or maximised as it is, as that of a fixed critic or reward model."""
    found: set[int] = set()
    stack = [root]
    while stack:
        number = stack.pop()
        op = graph.ops.get(number)
        if op is None or number in found:
            continue
        found.add(number)
        if op.name in STRAIGHT:
            stack.extend(operand.op for operand in op.inputs)
    return found


def _reached(trace: Trace, inputs: Iterable[object]) -> set[int]:
    found: set[int] = set()
    for operand in inputs:
        found |= trace.graph.reach(operand.op)  # type: ignore[attr-defined]
    return found


def _responsible(trace: Trace, backward: Backward, number: int) -> Optimizer | None:
    """Of the optimizers that consume this backward, the one that holds the parameter's companions."""
    found = consumers(trace, backward)
    near = trace.parameter(number).companions
    return max(found, key=lambda o: len(near.intersection(o.parameters)), default=None)
