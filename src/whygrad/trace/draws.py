"""A draw that one loss scores by its log-probability, and another one differentiates through."""

from __future__ import annotations

from collections.abc import Iterator

from whygrad.trace.anatomy import head, tops
from whygrad.trace.graph import Graph, Op
from whygrad.trace.ledger import Backward
from whygrad.trace.losses import kept
from whygrad.trace.operations import PRODUCTS, RANDOM, SHAPING
from whygrad.trace.reductions import MEANS
from whygrad.trace.terms import Term, terms
from whygrad.trace.trace import Trace

FITS = (MEANS | {"gaussian_nll_loss"}) - {"mean", "kl_div"}


def differentiated(trace: Trace) -> Iterator[tuple[Backward, Op, Op, frozenset[int]]]:
    """Fits to data whose gradient goes back through such a draw, the draw, and the parameters reached there."""
    graph = trace.graph
    parts = [(b, term) for b in kept(trace) if b.root is not None for term in terms(graph, b.root)]
    draws = {draw.id: draw for _, term in parts for draw in scored(graph, term)}
    for backward, term in parts:
        fit = graph[term.op]
        if fit.name not in FITS:
            continue
        through = draws.keys() & graph.carriers(fit.id)
        reach = frozenset[int]().union(*(graph.reach(number) for number in through))
        if reach:
            yield backward, fit, draws[max(through)], reach


def scored(graph: Graph, term: Term) -> Iterator[Op]:
    """Draws with a graph whose log-probability is weighed by data: a policy gradient, which never needs that graph."""
    for number in term.ops:
        op = graph[number]
        operands = [(i, found) for i, found in graph.operands(op) if not i.selector]
        weights = [found for i, found in operands if not op.passes(i) and found.shape]
        scores = [found for i, found in operands if op.passes(i)]
        if op.name in PRODUCTS and len(weights) == 1 and len(scores) == 1:
            yield from _drawn(graph, scores[0])


def _drawn(graph: Graph, score: Op) -> Iterator[Op]:
    """What a Gaussian's mean is subtracted from inside a log-probability, where it was made of that very mean."""
    for op in head(graph, score.id):
        values = [found for _, found in graph.operands(op)]
        if op.name != "sub" or len(values) != 2 or not op.passes(op.inputs[1]):
            continue
        draw = _attached(graph, values[0])
        means = {top.id for top in tops(graph, values[1].id)}
        if draw is None or not means or not means <= {top.id for top in tops(graph, draw.id)}:
            continue
        if any(behind.name in RANDOM for behind in head(graph, draw.id, gradient=False)):
            yield draw


def _attached(graph: Graph, value: Op) -> Op | None:
    """The value itself, or what it was detached from."""
    op: Op | None = value
    while op is not None and not op.requires_grad and (op.name in SHAPING or op.name == "detach"):
        op = graph.ops.get(op.inputs[0].op) if op.inputs else None
    return op if op is not None and op.requires_grad else None
