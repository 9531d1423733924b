"""Losses that move another loss's network: an actor loss that trains the critic it is judged by, and the reverse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from whygrad.trace.anatomy import layer, tops
from whygrad.trace.draws import differentiated
from whygrad.trace.errors import Error, errors
from whygrad.trace.graph import Graph, Op
from whygrad.trace.leaks import Leak, attached_targets, consumed, leak_onto
from whygrad.trace.ledger import Backward, Optimizer
from whygrad.trace.likeness import log_like, probability_like
from whygrad.trace.losses import kept
from whygrad.trace.membership import STRAIGHT
from whygrad.trace.operations import PRODUCTS
from whygrad.trace.opposition import opposed
from whygrad.trace.terms import Term, terms
from whygrad.trace.trace import Trace
from whygrad.trace.uses import backwards_in_order, steps_using


@dataclass(frozen=True, slots=True)
class _Part:
    """A summand of a loss."""

    backward: Backward
    term: Term
    reach: frozenset[int]

    @property
    def key(self) -> object:
        return self.backward.site, self.backward.made, self.term.site


@dataclass(frozen=True, slots=True)
class Judgement:
    """A term that optimises a network's output as it is, to train what lies below it."""

    part: _Part
    tops: tuple[Op, ...]
    judge: frozenset[int]
    """The network whose output is optimised; it has a loss of its own."""
    learner: frozenset[int]
    """What only this loss trains."""


def crosstalk(trace: Trace) -> Iterator[tuple[Leak, str]]:
    """Leaks between losses, with what the depositing loss is: `judged`, `judging`, `opposed`, `drawn` or `target`."""
    for backward, op, reach, how in _crossings(trace):
        found = leak_onto(trace, backward, op, op, reach)
        if found is not None:
            yield found, how
    yield from ((leak, "opposed") for leak in _games(trace))
    for backward, fit, draw, reach in differentiated(trace):
        found = leak_onto(trace, backward, fit, draw, reach)
        if found is not None:
            yield found, "drawn"
    for leak, error in attached_targets(trace):
        if not same_step(trace, leak, error):
            yield leak, "target"


def _games(trace: Trace) -> Iterable[Leak]:
    """One per loss: pairs of losses are looked for among the latest only."""
    found: dict[object, Leak] = {}
    for backward, reach in opposed(trace):
        leak = leak_onto(trace, backward, _loss(trace, backward), _loss(trace, backward), reach)
        if leak is not None:
            found.setdefault((backward.site, backward.made), leak).parameters |= leak.parameters
    return found.values()


def _crossings(trace: Trace) -> Iterator[tuple[Backward, Op, frozenset[int], str]]:
    found = judgements(trace)
    for judgement in found:
        used = set(consumed(trace, judgement.part.backward))
        applied = [top for top in judgement.tops if _direct(trace, top) & used & judgement.judge]
        if applied and judgement.learner & used:
            yield judgement.part.backward, applied[0], judgement.judge, "judged"
    learners = frozenset[int]().union(*(j.learner for j in found))
    judges = frozenset[int]().union(*(j.judge for j in found))
    fits = [(b, e) for b in kept(trace) if b.root is not None for e in errors(trace.graph, b.root) if e.target]
    learners -= judges
    for _, error in fits:
        if not _fitted(trace, error) & judges:
            learners -= error.predicts(trace.graph)  # It has an error of its own: not the judge's alone.
    for backward, error in fits:
        if _fitted(trace, error) & judges:
            yield backward, error.op, error.predicts(trace.graph) & learners, "judging"
    seen = {(j.part.backward.site, j.part.backward.made) for j in found}
    for backward in kept(trace):
        if (backward.site, backward.made) not in seen:
            assert backward.root is not None
            yield backward, trace.graph[backward.root], left_over(trace, backward), "judged"


def shared_below(trace: Trace) -> Iterator[Leak]:
    """What a judge and a learner both stand on, bent by the learner's step to please the judge.

    The gradient comes through the judge itself, not through what the learner made; the judge's own layers may be safe
    in another optimizer.
    """
    for judgement in judgements(trace):
        backward = judgement.part.backward
        used = consumed(trace, backward)
        own = {n for n in judgement.learner if n in used}
        steps = {optimizer for n in own for optimizer in used[n]}
        bent = frozenset(
            n
            for top in judgement.tops
            for n in _past(trace, top, judgement.learner) & judgement.judge
            if steps & used.get(n, set())
        )
        found = leak_onto(trace, backward, judgement.tops[0], judgement.tops[0], bent)
        if found is not None:
            yield found


def _past(trace: Trace, top: Op, learner: frozenset[int]) -> frozenset[int]:
    """Parameters that gradient reaches from a layer without going through the learner's own layers."""
    found: set[int] = set()
    stack, seen = [top.id], {top.id}
    while stack:
        op = trace.graph.ops.get(stack.pop())
        if op is None:
            continue
        direct = _direct(trace, op)
        if direct & learner:
            continue
        found |= direct
        for operand in op.inputs:
            if op.passes(operand) and operand.op not in seen:
                seen.add(operand.op)
                stack.append(operand.op)
    return frozenset(found)


def _loss(trace: Trace, backward: Backward) -> Op:
    """The operation that made it, of a later call where this one's was not kept."""
    if backward.root is not None:
        return trace.graph[backward.root]
    alike = [b for b in trace.rooted if (b.site, b.made) == (backward.site, backward.made)]
    return trace.graph[alike[-1].root or 0]


def owned_elsewhere(trace: Trace, leak: Leak) -> Optimizer | None:
    """Another optimizer that trains all of these parameters with a loss of their own."""
    for optimizer in trace.optimizers:
        if optimizer in leak.optimizers or not leak.parameters <= set(optimizer.parameters):
            continue
        mine = (s.consumed for s in trace.steps if s.optimizer == optimizer.id)
        if any(i != leak.backward.id for found in mine for n in leak.parameters for i in found.get(n, ())):
            return optimizer
    return None


def left_over(trace: Trace, backward: Backward) -> frozenset[int]:
    """What a loss left on the network that judged its output, applied later together with that network's own loss.

    A generator's loss runs through the discriminator: the generator steps, the discriminator's loss follows,
    and its step finds both.
    """
    assert backward.root is not None
    last = {n for top in tops(trace.graph, backward.root) for n in _direct(trace, top)}
    taking = steps_using(trace, backward.id)
    if len(taking) < 2:
        return frozenset()
    first = {n for n, ids in taking[0].consumed.items() if backward.id in ids}
    for step in taking[1:]:
        mine = frozenset(n for n, ids in step.consumed.items() if backward.id in ids) - first
        if step.optimizer == taking[0].optimizer or not last & mine or last & first:
            continue
        between = backwards_in_order(trace).between(taking[0].order, step.order)
        if any(b.deposits & mine and not b.deposits & first for b in between):
            return mine
    return frozenset()


def same_step(trace: Trace, leak: Leak, error: Error) -> bool:
    """Whether the step that consumes the leak also trains the prediction (or would, were it not cut)."""
    prediction = error.predicts(trace.graph) | error.inverted(trace.graph)
    used = consumed(trace, leak.backward)
    training = {o for n in prediction & set(used) for o in used[n]}
    return any(o.id in training for o in leak.optimizers)


def _fitted(trace: Trace, error: Error) -> set[int]:
    """Weights of the last layers whose output an error compares with its target."""
    return {n for s in error.prediction for top in tops(trace.graph, s.op) for n in _direct(trace, top)}


def _direct(trace: Trace, top: Op) -> set[int]:
    """The parameters that a layer applies itself."""
    return {found.parameter for _, found in trace.graph.operands(top) if found.parameter is not None}


def judgements(trace: Trace) -> list[Judgement]:
    return trace.once("judgements", lambda: _judgements(trace))


def _judgements(trace: Trace) -> list[Judgement]:
    graph = trace.graph
    parts = [
        _Part(backward, term, term.reach(graph))
        for backward in kept(trace)
        if backward.root is not None and backward.how == "backward"
        for term in terms(graph, backward.root)
    ]
    least = _Least(parts)
    found = (_judgement(trace, part, least) for part in parts)
    return [judgement for judgement in found if judgement is not None]


def _judgement(trace: Trace, part: _Part, least: _Least) -> Judgement | None:
    """Split what a term reaches into the networks it optimises as they are and what it trains through them."""
    last = judged(trace.graph, part.term.op)
    direct = set[int]().union(*(_direct(trace, top) for top in last))
    own = [found for n in direct if (found := least.beside(part, n))]
    if not own:
        return None
    judge = part.reach & frozenset[int]().union(*own)
    if judge == part.reach:
        modules = {trace.parameter(n).module for n in direct}
        judge = frozenset(n for n in judge if trace.parameter(n).module in modules)
    learner = part.reach - judge
    return Judgement(part, tuple(last), judge, learner) if judge and learner else None


class _Least:
    """The smallest loss of a network's own: what it reaches is the network."""

    def __init__(self, parts: list[_Part]) -> None:
        self._found: dict[int, list[_Part]] = {}
        """By parameter the smallest part that reaches it, and the smallest one of another loss than that."""
        for part in sorted(parts, key=lambda part: len(part.reach)):
            for number in part.reach:
                found = self._found.setdefault(number, [])
                if not found or (len(found) < 2 and found[0].key != part.key):
                    found.append(part)

    def beside(self, part: _Part, number: int) -> frozenset[int]:
        """Of the losses other than this one that reach the parameter; nothing where there is none."""
        found = (other.reach for other in self._found.get(number, ()) if other.key != part.key)
        return next(found, frozenset())


def judged(graph: Graph, root: int) -> list[Op]:
    """Last layers of networks whose output a loss raises or lowers as it is."""
    found: list[Op] = []
    stack, seen = [root], {root}
    while stack:
        op = graph.ops.get(stack.pop())
        if op is None:
            continue
        if layer(graph, op):
            found.append(op)
            continue
        if op.name not in STRAIGHT and op.name not in ("gather", "index_select", "unbind"):
            continue
        operands = [i.op for i in op.inputs if op.passes(i) and not i.selector]
        if op.name in PRODUCTS and len(operands) > 1:
            operands = _weighed(graph, operands)
        fresh = [number for number in operands if number not in seen]
        seen.update(fresh)
        stack.extend(fresh)
    return found


def _weighed(graph: Graph, operands: list[int]) -> list[int]:
    """Of a product of two networks' outputs: the values that probabilities weigh, nothing else."""
    chances = [n for n in operands if probability_like(graph, n) and not log_like(graph, n)]
    return [n for n in operands if n not in chances] if len(chances) == 1 else []
