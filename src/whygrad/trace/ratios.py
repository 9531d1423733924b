"""Probability ratios: `exp(new - old)` and quotients, and how old the old side is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from whygrad.trace.anatomy import formula, head, tops
from whygrad.trace.graph import Graph, Kind, Op
from whygrad.trace.ledger import Backward
from whygrad.trace.likeness import score_like
from whygrad.trace.nonfinite import is_mask
from whygrad.trace.operations import DIVISIONS, LOGS, MADE_UP, PROBABILITIES, PRODUCTS, SCALINGS, SHAPING
from whygrad.trace.site import Site
from whygrad.trace.trace import Trace

PICKING = frozenset({"gather", "take", "prod"})
GATHERING = frozenset({"sum", "mean", "norm", "logsumexp", "amax", "cumsum", "std", "var", "nansum"})
INSIDE = SHAPING | SCALINGS | {"sum", "mean"}


@dataclass(frozen=True, slots=True)
class Ratio:
    """New over old probability of the actions taken."""

    backward: Backward
    op: Op
    new: int
    old: int
    attached: bool
    """The old side carries gradient."""


def ratios(trace: Trace) -> list[Ratio]:
    return trace.once("ratios", lambda: _find(trace))


def _find(trace: Trace) -> list[Ratio]:
    out: dict[int, Ratio] = {}
    for backward in trace.rooted:
        assert backward.root is not None
        for ratio in of_loss(trace.graph, backward, backward.root):
            out.setdefault(ratio.op.id, ratio)
    return sorted(out.values(), key=lambda ratio: ratio.op.id)


def of_loss(graph: Graph, backward: Backward, root: int) -> list[Ratio]:
    """Those that one loss is made of, nearest first."""
    found = (_ratio(graph, backward, op) for op in formula(graph, root))
    return [ratio for ratio in found if ratio is not None]


def _ratio(graph: Graph, backward: Backward, op: Op) -> Ratio | None:
    if op.name == "exp":
        return _exponential(graph, backward, op)
    if op.name not in DIVISIONS:
        return None
    values = [i for i, _ in graph.operands(op) if not i.selector]
    if len(values) != 2:
        return None
    new, old = values
    if not op.passes(new) or not chance(graph, new.op) or _normalises(graph, new.op, old.op):
        return None
    if graph[new.op].shape != graph[old.op].shape:
        return None
    return Ratio(backward, op, new.op, old.op, op.passes(old)) if _stored(graph, old.op) else None


def _exponential(graph: Graph, backward: Backward, op: Op) -> Ratio | None:
    inner = graph.ops.get(op.inputs[0].op) if op.inputs else None
    while inner is not None and inner.name in INSIDE:
        carrying = [i.op for i in inner.inputs if inner.passes(i) and not i.selector]
        inner = graph.ops.get(carrying[0]) if len(carrying) == 1 else None
    if inner is None or inner.name != "sub":
        return None
    values = [i for i, _ in graph.operands(inner) if not i.selector]
    if len(values) != 2 or not inner.passes(values[0]) or not score_like(graph, values[0].op):
        return None
    new, old = values
    if made_of(graph, old.op, new.op, gradient=False) and _normalises(graph, new.op, old.op):
        return None  # The largest or the sum is taken out before exp: a mixture, a softmax by hand.
    return Ratio(backward, op, new.op, old.op, inner.passes(old)) if _stored(graph, old.op) else None


def chance(graph: Graph, root: int) -> bool:
    """A probability itself, picked or reshaped at most: softmax, or the exponential of a log-probability."""
    op = graph.ops.get(root)
    while op is not None and (op.name in SHAPING or op.name in PICKING) and op.inputs:
        op = graph.ops.get(op.inputs[0].op)
    return op is not None and (op.name in PROBABILITIES or (op.name == "exp" and score_like(graph, op.id)))


def _stored(graph: Graph, root: int) -> bool:
    """Plausible as an old (log-)probability: computed as one, or data of unknown make."""
    ops = list(head(graph, root, gradient=False))
    if any(op.name in LOGS or op.name in PROBABILITIES for op in ops):
        return True
    return not any(op.parameter is not None or op.layer for op in ops)


def _normalises(graph: Graph, new: int, old: int) -> bool:
    """`p / p.sum()`: the divisor gathers what the dividend is a part of."""
    shared = {op.id for op in tops(graph, new)} & {op.id for op in tops(graph, old)}
    if not shared:
        return False
    return any(op.name in GATHERING for op in head(graph, old, gradient=False, stop=_is(new)))


def _is(number: int) -> Callable[[Graph, Op], bool]:
    return lambda _, op: op.id == number


def made_of(graph: Graph, old: int, new: int, *, gradient: bool = True) -> bool:
    """The old side is computed from the new one itself, gradient and all."""
    return any(op.id == new for op in head(graph, old, gradient=gradient))


def forward_start(graph: Graph, root: int, parameters: set[int]) -> int:
    """The number of the first operation behind a value that reads one of these parameters."""
    found = root
    stack, seen = [root], {root}
    while stack:
        op = graph.ops.get(stack.pop())
        for operand in op.inputs if op is not None else ():
            behind = graph.ops.get(operand.op)
            if behind is not None and behind.parameter in parameters:
                found = min(found, op.id)  # type: ignore[union-attr]
            if operand.op not in seen:
                seen.add(operand.op)
                stack.append(operand.op)
    return found


def _acted(graph: Graph, old: int, trained: set[int]) -> int:
    """When the policy acted: a hidden state that it got may come from a rollout before, and from weights before."""
    last = [top.id for top in tops(graph, old, gradient=False) if trained & graph.depends(top.id)]
    return min(last, default=forward_start(graph, old, trained))


def same_weights(trace: Trace, ratio: Ratio) -> bool | None:
    """Whether both sides come from one network with the same weights; None if that cannot be told."""
    graph = trace.graph
    trained = {n for n in graph.reach(ratio.new) if trace.parameter(n).consumed}
    if not trained:
        return None  # Moved by hand, whenever that is.
    behind = graph.made_from(ratio.old)
    own = trained <= behind
    refreshed = (_acted(graph, ratio.old, trained), trained) if own else _refreshed(trace, ratio.old, behind, trained)
    if refreshed is None:
        return None
    start, _ = refreshed
    end = ratio.op.id
    return not any(start <= s.serial < end and trained & set(s.consumed) for s in trace.steps)


def uncopied(trace: Trace, ratio: Ratio) -> frozenset[int]:
    """Trained parameters that the network which acted was made without, though all it has comes from the others."""
    trained = {n for n in trace.graph.reach(ratio.new) if trace.parameter(n).consumed}
    behind = trace.graph.made_from(ratio.old)
    refreshed = None if trained <= behind else _refreshed(trace, ratio.old, behind, trained)
    return frozenset(trained - refreshed[1]) if refreshed is not None else frozenset()


def _refreshed(trace: Trace, old: int, behind: Iterable[int], trained: set[int]) -> tuple[int, set[int]] | None:
    """When the network behind the old side was made from the trained one, if it was, and from what of it."""
    copy_of: set[int] = set()
    start, began = None, forward_start(trace.graph, old, set(behind))
    for number in behind:
        copies = [c for c in trace.copies if number in c.into and c.serial <= began]
        if not copies or copies[-1].blended or not copies[-1].pairs.get(number, frozenset()) <= trained:
            return None
        copy_of |= copies[-1].pairs.get(number, frozenset())
        start = copies[-1].serial if start is None else min(start, copies[-1].serial)
    return (start, copy_of) if start is not None and copy_of else None


def reused(trace: Trace) -> list[Ratio]:
    """Ratios whose old side was differentiated before, so that the backward through it failed."""
    raised, graph = trace.raised, trace.graph
    if raised is None or raised.code != "WG603" or raised.culprit is None:
        return []
    failed = [r for r in ratios(trace) if r.attached and r.backward.id == raised.backward]
    return [r for r in failed if raised.culprit in _sites(graph, r.old) - _sites(graph, r.new)]


def _sites(graph: Graph, root: int) -> set[Site | None]:
    return {graph[number].site for number in graph.carriers(root)}


def batch(graph: Graph, root: int) -> frozenset[int]:
    """The data behind a value: which tensors were looked at, whatever rows of them."""
    found: set[int] = set()
    stack, seen = [root], {root}
    while stack:
        op = graph.ops.get(stack.pop())
        if op is None:
            continue
        data = op.kind in (Kind.INPUT, Kind.COPY) and op.name not in MADE_UP
        if not op.inputs and op.parameter is None and data:
            found.add(op.id)
        rows = op.name in ("select", "index_select", "take")
        for operand in op.inputs[:1] if rows else op.inputs:
            if operand.op not in seen:
                seen.add(operand.op)
                stack.append(operand.op)
    return frozenset(found)


def selected(graph: Graph, ratio: Ratio) -> bool:
    """Whether a mask picks some of the ratio's elements on their way into the loss."""
    assert ratio.backward.root is not None
    for op in formula(graph, ratio.backward.root):
        picks = any(i.selector and graph[i.op].dtype == "bool" for i in op.inputs if i.op in graph.ops)
        if picks and any(behind.id == ratio.op.id for behind in head(graph, op.id)):
            return True
    return False


def unmasked(graph: Graph, ratio: Ratio) -> float | None:
    """The part of a ratio's elements that a mask of zeros and ones lets into the loss, where one multiplies them."""
    assert ratio.backward.root is not None
    for op in formula(graph, ratio.backward.root):
        if op.name in PRODUCTS and op.facts is not None and op.facts.weight is not None and op.shape == ratio.op.shape:
            masks = [found for i, found in graph.operands(op) if not op.passes(i) and is_mask(graph, found)]
            if masks and any(behind.id == ratio.op.id for behind in head(graph, op.id)):
                return op.facts.weight
    return None


def stepped_between(trace: Trace, earlier: Ratio, later: Ratio) -> bool:
    trained = trace.graph.reach(later.new)
    between = [s for s in trace.steps if earlier.op.id <= s.serial < later.op.id and s.changed is not False]
    return any(trained & set(s.consumed) for s in between)


def by_place(found: list[Ratio]) -> Iterator[list[Ratio]]:
    """Evaluations of one ratio expression, in order."""
    places: dict[object, list[Ratio]] = {}
    for ratio in found:
        places.setdefault(ratio.op.site, []).append(ratio)
    yield from places.values()
