"""Several backwards of one loss in one step, and by what each is divided."""

from __future__ import annotations

from dataclasses import dataclass

from whygrad.trace.anatomy import formula
from whygrad.trace.graph import Graph, Op
from whygrad.trace.ledger import Backward, Clip, Step
from whygrad.trace.microbatches import MicroBatches, micro_batches
from whygrad.trace.operations import DIVISIONS, PRODUCTS, SHAPING
from whygrad.trace.reductions import reductions, takes_mean
from whygrad.trace.site import Site
from whygrad.trace.trace import Trace


@dataclass(slots=True)
class Accumulation:
    """One loss, summed over micro-batches."""

    backward: Backward
    step: Step
    count: int
    steps: int
    parameters: frozenset[int]
    divided_by: float
    """The Python number that each of the losses is divided by as a whole."""
    total: Op | None
    """A division by something that all the micro-batches share."""
    by_hand: float
    """What the summed gradient is divided by before the step."""
    mean: bool
    """A mean over its own micro-batch."""
    divisions: frozenset[Site]
    """Where something on the way to the loss is divided."""
    undivided: bool
    """Such a mean, and nothing divides it."""
    pieces: MicroBatches | None = None
    """The losses of a step are made from pieces of one batch, and nothing changes their gradient on the way."""

    @property
    def shared_total(self) -> bool:
        return self.total is not None


def accumulations(trace: Trace) -> list[Accumulation]:
    by_id = {b.id: b for b in trace.rooted}
    groups: dict[object, list[tuple[Step, list[Backward]]]] = {}
    for step in trace.steps:
        ids = sorted({i for found in step.consumed.values() for i in found})
        losses: dict[object, list[Backward]] = {}
        for backward in (by_id[i] for i in ids if i in by_id):
            losses.setdefault((backward.site, backward.made), []).append(backward)
        for loss, backwards in losses.items():
            if len(backwards) > 1 and not step.closure:
                groups.setdefault((loss, step.optimizer), []).append((step, backwards))
    found = (_accumulation(trace, group) for group in groups.values())
    return [case for case in found if case is not None]


def _accumulation(trace: Trace, group: list[tuple[Step, list[Backward]]]) -> Accumulation | None:
    step, backwards = group[-1]
    graph, backward = trace.graph, backwards[-1]
    count = max(len(set(ids)) for ids in step.consumed.values())
    assert backward.root is not None
    divisors = {round(_divisor(graph, b.root), 6) for b in backwards if b.root is not None}
    divided = divisors.pop() if len(divisors) == 1 else 1.0  # Weights of their own may well sum to one.
    total = _shared_total(graph, backwards)
    hands = [c for c in trace.clips if c.how == "hand" and c.present.intersection(step.consumed)]
    by_hand = max((_scale(c) for c in hands), default=1.0)
    mean = _mean(graph, backward.root)
    divisions = {op.site for op in formula(graph, backward.root, gradient=False) if op.name in DIVISIONS}
    untouched = not hands and not step.assigned
    undivided = divided == 1.0 and not divisors and total is None and mean and untouched
    shared = micro_batches(trace, *max(group, key=lambda entry: len(entry[1]))) if untouched else None
    return Accumulation(
        backward,
        step,
        count,
        len(group),
        frozenset(step.consumed),
        divided,
        total,
        by_hand,
        mean,
        frozenset(site for site in divisions if site is not None),
        undivided,
        shared,
    )


def _mean(graph: Graph, root: int) -> bool:
    terms = reductions(graph, root)
    return any(t.averages(graph) for t in terms) if terms else any(takes_mean(op) for op in formula(graph, root))


def _divisor(graph: Graph, root: int) -> float:
    """What the loss as a whole is divided by."""
    divisor = 1.0
    op: Op | None = graph[root]
    while op is not None:
        carrying = [i.op for i in op.inputs if op.passes(i) and not i.selector]
        if op.name in DIVISIONS and op.scalar:
            divisor *= op.scalar
        elif op.name in PRODUCTS and op.scalar:
            divisor /= op.scalar
        elif op.name not in SHAPING:
            break
        op = graph.ops.get(carrying[0]) if len(carrying) == 1 else None
    return divisor


def _shared_total(graph: Graph, backwards: list[Backward]) -> Op | None:
    """A division whose divisor was computed once for all the micro-batches."""
    divisors: list[dict[int, Op]] = []
    for backward in backwards:
        assert backward.root is not None
        found: dict[int, Op] = {}
        for op in formula(graph, backward.root):
            if op.name in DIVISIONS and len(op.inputs) == 2 and not op.passes(op.inputs[1]):
                found[op.inputs[1].op] = op
        divisors.append(found)
    common = set(divisors[0]).intersection(*divisors[1:])
    return divisors[-1][min(common)] if common else None


def _scale(clip: Clip) -> float:
    """What a change by hand divides the gradient by."""
    operation = clip.operation.removeprefix("_foreach_").strip("_")
    if clip.limit != clip.limit or clip.limit <= 0:
        return 1.0
    return clip.limit if operation in ("div", "itruediv") else 1 / clip.limit if operation in ("mul", "imul") else 1.0
