"""Networks that follow another one by copying, and those that should and do not."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from heapq import heappop, heappush

from whygrad.trace.anatomy import tops
from whygrad.trace.errors import Error, errors
from whygrad.trace.graph import Graph, Op
from whygrad.trace.grouping import modules
from whygrad.trace.ledger import Backward, Copy
from whygrad.trace.likeness import log_like
from whygrad.trace.losses import latest
from whygrad.trace.operations import PRODUCTS, SHAPING
from whygrad.trace.ratios import Ratio, ratios
from whygrad.trace.trace import Trace, worked_out_once
from whygrad.trace.uses import steps_in_order

ENOUGH = 20
"""Updates before a network that never moved is one that never will."""
AGAIN = 3
"""Looks that found a target changed before it counts as one that is refreshed again and again."""
LONG = 4
"""It must have stood still for so many times as long as it may have before: a period may grow."""
MOVED = 1e-3
"""Relative change by which the trained network must have left its first values behind."""
TARGET = re.compile(r"target|targ|tgt", re.IGNORECASE)


@worked_out_once
def copied_only(trace: Trace) -> frozenset[int]:
    """Parameters that follow others: written from them, or made as a copy, and never a prediction of their own."""
    written = {n for c in trace.copies if c.sources for n in c.into - c.sources}
    made = {p.id for p in trace.parameters if p.derived_from and p.loaded}
    predictions: set[int] = set()
    for backward in latest(trace):
        assert backward.root is not None
        for error in errors(trace.graph, backward.root):
            predictions |= error.predicts(trace.graph)
    sources = {n for c in trace.copies for n in c.sources - c.into}
    return frozenset((written | made) - predictions - (sources - written))


@worked_out_once
def averages(trace: Trace) -> frozenset[int]:
    """Parameters that are blended, again and again, with those of a trained network: exponential averages.

    One that was trained only before the first blending was no average then: weights that adapters are merged into.
    """
    orders: dict[int, list[int]] = {}
    for copy in trace.copies:
        if copy.blended and any(trace.parameter(n).consumed for n in copy.sources):
            for number in copy.into - copy.sources:
                orders.setdefault(number, []).append(copy.order)
    stepped = {n: step.order for step in trace.steps for n, deposits in step.consumed.items() if deposits}
    return frozenset(n for n, found in orders.items() if len(found) > 1 and stepped.get(n, -1) > found[0])


@dataclass(slots=True)
class Lagging:
    """A target network that stays where it began while the trained one moves on."""

    backward: Backward
    error: Error
    parameters: frozenset[int]
    follows: frozenset[int]
    """What it should have followed."""
    forward: Op
    copy: Copy | None
    """The statement that should have refreshed it and does not."""
    ceased: int | None = None
    """The update by which it was refreshed for the last time; None where it never was."""


def lagging(trace: Trace) -> list[Lagging]:
    """Networks behind a bootstrapped target that nothing has moved since training began."""
    graph = trace.graph
    out: dict[frozenset[int], Lagging] = {}
    trained = {p.id for p in trace.parameters if p.consumed}
    started = min((s.order for s in trace.steps), default=0)
    selfish = _from_themselves(trace, started)
    vain = _written_in_vain(trace)
    for backward in latest(trace):
        assert backward.root is not None
        for error in errors(graph, backward.root):
            for summand in error.target:
                if log_like(graph, summand.op, gradient=False):
                    continue  # A penalty on the distance from a reference policy, not a value.
                behind = graph.made_from(summand.op) - trained
                if not error.bootstraps and not all(n in vain or _called_target(trace, n) for n in behind):
                    continue
                still = frozenset(n for n in behind if trace.parameter(n).still >= ENOUGH or n in selfish)
                ceased = None
                if not still and (still := _ceased(trace, backward, behind)):
                    ceased = max(trace.parameter(n).changes.last for n in still)
                if len(still) * 2 <= len(behind):
                    still = _whole(trace, still)
                online = _online(trace, still, error)
                if ceased is not None and not _trained_since(trace, online, ceased):
                    continue
                follows = still and all(n in vain or _follows(trace, n, error.predicts(graph)) for n in still)
                moving = follows and any(trace.parameter(n).shift >= MOVED for n in online)
                if moving and tops(graph, summand.op, gradient=False):
                    copy = next((c for c in reversed(trace.copies) if c.into & still and c.order > started), None)
                    last = _last(graph, summand.op, still)
                    out.setdefault(still, Lagging(backward, error, still, online, last, copy, ceased))
    return list(out.values())


def _ceased(trace: Trace, backward: Backward, behind: frozenset[int]) -> frozenset[int]:
    """Parameters that were refreshed again and again, and for much longer than ever before have not been."""
    found = set[int]()
    for number in behind:
        seen = trace.parameter(number).changes
        if seen.times >= AGAIN and seen.last <= backward.update and trace.updates - seen.last >= LONG * seen.pause > 0:
            found.add(number)
    return frozenset(found)


def _trained_since(trace: Trace, online: frozenset[int], update: int) -> bool:
    """Whether it still moved halfway from that update to the end: weights at rest refresh nothing."""
    holders = [o for n in online for o in trace.holders.get(n, ())]
    moving = any(o.stopped is None and (any(o.rates) or not o.rates) for o in holders)
    return moving and any(2 * trace.parameter(n).changes.last >= update + trace.updates for n in online)


def _last(graph: Graph, root: int, parameters: frozenset[int]) -> Op:
    """The operation nearest to a value that applies one of these parameters."""
    stack, seen = [-root], {root}
    while stack:
        op = graph[-heappop(stack)]
        for operand, behind in graph.operands(op):
            if behind.parameter in parameters:
                return op
            if operand.op not in seen:
                seen.add(operand.op)
                heappush(stack, -operand.op)
    return graph[root]


def _whole(trace: Trace, still: frozenset[int]) -> frozenset[int]:
    """Networks all of which stands still, beside others of the same target that move."""
    complete = (numbers for numbers in modules(trace).values() if still.issuperset(numbers))
    return frozenset(n for numbers in complete for n in numbers)


def _called_target(trace: Trace, number: int) -> bool:
    """A copy of another network that goes by the name of a target."""
    parameter = trace.parameter(number)
    return bool(parameter.derived_from) and bool(TARGET.search(parameter.name))


def _from_themselves(trace: Trace, started: int) -> frozenset[int]:
    """Parameters that are refreshed again and again, and only ever from their own values."""
    counts: Counter[int] = Counter()
    fed: set[int] = set()
    for copy in trace.copies:
        if copy.order > started:
            counts.update(copy.itself)
            fed |= {n for n in copy.into if copy.pairs.get(n, copy.sources)}
    return frozenset(n for n, count in counts.items() if count > 1 and n not in fed)


def _written_in_vain(trace: Trace) -> frozenset[int]:
    """Parameters that a copy wrote from others which a step had moved, and that kept their values all the same."""
    out: set[int] = set()
    stepped: set[int] = set()
    steps = iter(steps_in_order(trace).events)
    step = next(steps, None)
    for copy in sorted(trace.copies, key=lambda copy: copy.order):
        while step is not None and step.order < copy.order:
            stepped.update(n for n, deposits in step.consumed.items() if deposits)
            step = next(steps, None)
        out |= {n for n, sources in copy.pairs.items() if sources and sources <= stepped}
    return frozenset(n for n in out if trace.parameter(n).rewritten and trace.parameter(n).still >= ENOUGH)


def _online(trace: Trace, still: frozenset[int], error: Error) -> frozenset[int]:
    """What the network that stands still should have followed."""
    sources = {n for c in trace.copies for number in still & c.into for n in c.pairs.get(number, c.sources)}
    sources |= {n for number in still for n in trace.parameter(number).derived_from}
    return frozenset(sources - still) or error.predicts(trace.graph)


def _follows(trace: Trace, number: int, online: frozenset[int]) -> bool:
    """Meant to follow: made as a copy, or built like the trained one and filled from it or called a target."""
    parameter = trace.parameter(number)
    alike = any(trace.parameter(n).shape == parameter.shape for n in online)
    return bool(parameter.derived_from) or (alike and (parameter.loaded or bool(TARGET.search(parameter.name))))


@dataclass(slots=True)
class Behaviour:
    """A copy of the policy that acts, and what of it stands still."""

    stale: frozenset[int]
    policy: frozenset[int]
    forward: Op
    use: Op
    copy: Copy | None
    partly: bool


def stale_behaviour(trace: Trace) -> list[Behaviour]:
    """Copies of the trained policy on the old side of a ratio that nothing refreshes."""
    graph = trace.graph
    out: dict[frozenset[int], Behaviour] = {}
    started = min((s.order for s in trace.steps), default=0)
    for ratio in ratios(trace):
        policy = frozenset(n for n in graph.reach(ratio.new) if trace.parameter(n).consumed)
        behind = graph.made_from(ratio.old) - policy
        stale = frozenset(n for n in behind if trace.parameter(n).still >= ENOUGH and _copy_of(trace, n, policy))
        if not stale or not policy or not _weighed(graph, ratio):
            continue
        copy = next((c for c in reversed(trace.copies) if c.into & behind and c.order > started), None)
        partly = any(trace.parameter(n).moved for n in behind) or (copy is not None and not copy.into & stale)
        out[stale] = Behaviour(stale, policy, graph[ratio.old], ratio.op, copy, partly)
    return list(out.values())


def _copy_of(trace: Trace, number: int, policy: frozenset[int]) -> bool:
    """Made as a copy of a trained parameter, directly or by way of others."""
    queue, seen = [number], {number}
    while queue:
        for source in trace.parameter(queue.pop()).derived_from:
            if source in policy:
                return True
            if source not in seen:
                seen.add(source)
                queue.append(source)
    if trace.parameter(number).derived_from:
        return False  # A copy of something that does not train.
    written = {n for c in trace.copies if number in c.into for n in c.pairs.get(number, c.sources)}
    return bool(written & policy)


def _weighed(graph: Graph, ratio: Ratio) -> bool:
    """The ratio weighs something, as in a surrogate; a KL estimate adds it instead."""
    users = [op for op in graph.ops.values() if any(i.op == ratio.op.id for i in op.inputs)]
    return any(op.name in PRODUCTS or op.name in SHAPING or op.name == "minimum" for op in users)
