"""Cuts: the places where gradient that a step needs comes to an end, one per cause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from whygrad.trace.consumption import by_hand, consumers, frozen, missing, trained
from whygrad.trace.errors import predicted_by
from whygrad.trace.fading import faded, telling
from whygrad.trace.graph import Graph, Kind, Op
from whygrad.trace.ledger import Backward
from whygrad.trace.losses import latest
from whygrad.trace.operations import SCALINGS
from whygrad.trace.paths import Path, paths
from whygrad.trace.site import Site
from whygrad.trace.spells import Spell
from whygrad.trace.terms import PASSING, Term, terms
from whygrad.trace.trace import Trace, worked_out_once
from whygrad.trace.workers import originals, with_workers


@dataclass(slots=True)
class Cut:
    """One cause: what cut, where, for which parameters of which loss."""

    kind: str
    """A `Kind` value, or `no-grad`, `sample`, `checkpoint`, `frozen`."""
    op: Op
    site: Site | None
    backward: Backward
    parameters: set[int] = field(default_factory=set)
    workers: set[int] = field(default_factory=set)
    """Copies of them that the loss is computed with, and whose gradients are handed over."""
    term: Term | None = None
    """The dead summand, when the rest of the loss still trains these parameters."""
    path: Path | None = None
    inferred: bool = False
    origin: Op | None = None
    """The cut underneath a flag or a second blocker, where there is one."""
    when: Spell | None = None
    """The part of the run in which the summand was dead, where it was not so all the time."""
    partly: bool = False
    """There the summand still trains others."""


def cuts(trace: Trace) -> list[Cut]:
    """All cuts of the trace; parameters that die at one place share one cut."""
    return trace.once("cuts", lambda: _find(trace))


def cut_between(trace: Trace, backward: Backward, parameters: frozenset[int]) -> list[Cut]:
    """What keeps one loss from these parameters, whatever any optimizer does."""
    return list(_missing_cuts(trace, backward, parameters))


def _find(trace: Trace) -> list[Cut]:
    out: dict[object, Cut] = {}
    lost = with_workers(trace, missing(trace) | _lost_to_error(trace))
    for backward in latest(trace):
        for cut in _missing_cuts(trace, backward, lost):
            _merge(out, cut)
    explained = set().union(*(c.parameters for c in out.values())) if out else set()
    for backward in {b.id: b for b in (*latest(trace), *telling(trace))}.values():
        for cut in _dead_terms(trace, backward, lost, explained):
            _merge(out, cut)
    for cut in out.values():
        cut.workers = cut.parameters & originals(trace).keys()
        cut.parameters = {originals(trace).get(n, n) for n in cut.parameters}
    return list(out.values())


def _alive(trace: Trace, lost: frozenset[int]) -> frozenset[int]:
    return with_workers(trace, trained(trace)) - lost


def _lost_to_error(trace: Trace) -> frozenset[int]:
    """When the loss had no graph at all and PyTorch said so: what it depends on and a trainer holds."""
    raised = trace.raised
    if raised is None or raised.code != "WG601" or raised.backward is None:
        return frozenset()
    if raised.parameters:
        return raised.parameters
    failed = next((b for b in trace.rooted if b.id == raised.backward), None)
    if failed is None or failed.root is None:
        return frozenset()
    behind = trace.graph.depends(failed.root)
    predicting = predicted_by(trace.graph, failed.root)
    if predicting and not predicting & set(trace.holders):
        return frozenset()  # The prediction is another network's; what the target is made of is rightly constant.
    wanted = {n for n in behind if trace.parameter(n).requires_grad} | (behind & frozen(trace))
    held = wanted & set(trace.holders)
    still = {n for n in held if trace.parameter(n).frozen_last}
    return frozenset(still or held or wanted)


def _missing_cuts(trace: Trace, backward: Backward, lost: frozenset[int]) -> Iterable[Cut]:
    """Why this loss does not reach parameters that nothing trains."""
    assert backward.root is not None
    graph = trace.graph
    alive = _alive(trace, lost)
    reached = graph.reach(backward.root)
    for path in paths(graph, [backward.root], lost - reached, alive, _fresh(trace)).values():
        cut = _cut(trace, backward, path)
        if cut is not None:
            yield cut
    starving = lost | _zero(trace)
    if starving & reached:
        yield from _silenced(trace, backward, starving & reached)


@worked_out_once
def _fresh(trace: Trace) -> frozenset[int]:
    """Parameters that get gradient, are held by nobody and were copied from nowhere."""
    deposited = {n for b in trace.backwards for n in b.deposits}
    return frozenset(n for n in deposited if n not in trace.holders and not trace.parameter(n).loaded)


@worked_out_once
def _zero(trace: Trace) -> frozenset[int]:
    """Held parameters whose gradient came and was exactly zero every time."""
    return frozenset(n for n in trace.holders if trace.parameter(n).grad == "zero")


def _silenced(trace: Trace, backward: Backward, lost: frozenset[int]) -> Iterable[Cut]:
    """The graph reaches them, no gradient came: a custom backward on the way returned nothing."""
    assert backward.root is not None
    graph = trace.graph
    for number in graph.carriers(backward.root):
        op = graph[number]
        starved = {n for i in op.silenced if i < len(op.inputs) for n in graph.reach(op.inputs[i].op)} & lost
        if starved:
            yield Cut(Kind.FUNCTION.value, op, op.hook or op.site, backward, starved)


def _dead_terms(trace: Trace, backward: Backward, lost: frozenset[int], explained: set[int]) -> Iterable[Cut]:
    """Summands that reach nothing the following step consumes, although they depend on it."""
    assert backward.root is not None
    graph = trace.graph
    if not backward.deposits - backward.zeros <= graph.reach(backward.root):
        return  # Gradient went where the shadow graph does not: it is folded, so no term is judged.
    if trace.raised is not None and trace.raised.code == "WG601" and trace.raised.backward == backward.id:
        return  # All of it is dead, which is another matter.
    still = frozen(trace)
    idle = (o for o in trace.optimizers if o.steps and still.issuperset(o.parameters))
    held = with_workers(trace, (n for o in (*consumers(trace, backward), *idle) for n in o.parameters))
    summands = terms(graph, backward.root)
    for term in summands:
        phase = faded(trace, backward, term)
        partly = phase is not None and not phase.whole
        reached = term.reach(graph) & ((held - still) | by_hand(trace))
        if not held or (reached and not partly) or _reference(graph, term, summands):
            continue
        trained_once = (
            {n for n in phase.parameters if not trace.parameter(n).frozen_last} if phase is not None else set()
        )
        wanted = frozenset(trained_once) if partly else held | trained_once
        found = paths(graph, term.ops, wanted, _alive(trace, lost) - trained_once, _fresh(trace))
        found = {n: p for n, p in found.items() if not _companion(trace, backward, p)}
        best = {n: p for n, p in found.items() if n in trained_once}
        best = best or {n: p for n, p in found.items() if n in lost} or found
        if not best or set(best) & lost & explained:
            continue
        cheapest = min(p.cost for p in best.values())
        for path in best.values():
            cut = _cut(trace, backward, path) if path.cost <= cheapest + 1e-9 else None
            if cut is not None:
                cut.term = None if path.parameter in lost else term
                cut.inferred = cut.inferred or term.inferred
                cut.when = phase.when if phase is not None else None
                cut.partly = partly
                yield cut


def _reference(graph: Graph, term: Term, summands: list[Term]) -> bool:
    """`ref - new`, both made by one line: what ran without gradient is the same operation under other weights."""
    alive = {(graph[n].site, graph[n].name) for other in summands if other.reach(graph) for n in other.ops}
    op: Op | None = graph[term.op]
    while op is not None and (op.site, op.name) not in alive:
        op = graph.ops.get(op.inputs[0].op) if op.name in PASSING and op.inputs else None
    return op is not None and op.site is not None and op.region is not None


def _companion(trace: Trace, backward: Backward, path: Path) -> bool:
    """`x - x.detach()`: the same value also enters the sum with its gradient, so the constant copy is meant."""
    assert backward.root is not None
    graph = trace.graph
    for number in path.ops:
        op = graph[number]
        if op.kind is Kind.DETACH:
            summed = {n for term in terms(graph, backward.root) for n in term.ops}
            return any(n in summed for i in op.inputs for term in terms(graph, i.op) for n in term.ops)
        if op.name not in PASSING and op.name not in SCALINGS:
            return False
    return False


def _cut(trace: Trace, backward: Backward, path: Path) -> Cut | None:
    """Name the blocker that is the cause of this path's end."""
    graph = trace.graph
    parameter = trace.parameter(path.parameter)
    if not path.blockers:
        if not parameter.requires_grad or (trace.raised is not None and parameter.frozen_last):
            return Cut("frozen", graph[path.ops[-1]], parameter.frozen, backward, {path.parameter}, path=path)
        end = _undifferentiable(trace, path)
        if end is None:
            return None
        kind = Kind.FUNCTION.value if end.kind is Kind.FUNCTION else "unknown"
        return Cut(kind, end, end.site, backward, {path.parameter}, path=path)
    blockers = [graph[n] for n in path.blockers]
    op, origin = _primary(blockers)
    kind, site = _kind(op)
    return Cut(kind, op, site, backward, {path.parameter}, path=path, inferred=path.inferred, origin=origin)


def _undifferentiable(trace: Trace, path: Path) -> Op | None:
    """The operation on the path that took a value with history and gave one without, for no visible reason."""
    graph = trace.graph
    for number, behind in zip(path.ops, path.ops[1:], strict=False):
        op = graph[number]
        if not op.requires_grad and any(i.op == behind and i.carries for i in op.inputs):
            return op
    return None


def _primary(blockers: list[Op]) -> tuple[Op, Op | None]:
    """Loss first. A flag on a dead loss leads; else what left torch; else the blocker nearest the parameter."""
    nearest = blockers[-1]
    for op in blockers:
        if op.kind is Kind.FLAG:
            return op, nearest if nearest is not op else None
    left = [op for op in blockers if op.kind is Kind.LEAVE]
    if left and all(op.kind in (Kind.LEAVE, Kind.COPY, Kind.DETACH) for op in blockers):
        return left[-1], None
    others = [op for op in blockers if op is not nearest and (op.region is None or op.region != nearest.region)]
    return nearest, others[-1] if others else None


def _kind(op: Op) -> tuple[str, Site | None]:
    if op.kind in (Kind.COPY, Kind.LEAVE, Kind.DETACH, Kind.DISCRETE, Kind.FLAG):
        return op.kind.value, op.site
    region = op.region
    if region is None:
        return op.kind.value, op.site
    names = {"user": "no-grad", "library": "no-grad", "sample": "sample", "checkpoint": "checkpoint"}
    return names.get(region.by, "function"), region.site or op.site


def _merge(out: dict[object, Cut], cut: Cut) -> None:
    key = (cut.kind, cut.site)
    kept = out.get(key)
    if kept is None:
        out[key] = cut
        return
    kept.parameters |= cut.parameters
    kept.inferred = kept.inferred and cut.inferred
    if kept.when is not None and cut.when is None:
        kept.when = None
    if kept.term is not None and cut.term is None:
        kept.term = None
