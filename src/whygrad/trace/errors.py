"""Errors in the sense of regression: a prediction, a target, and how far apart they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from whygrad.trace.anatomy import Summand, head, of_network, summands, tops
from whygrad.trace.graph import Graph, Kind, Op
from whygrad.trace.likeness import distribution, log_like
from whygrad.trace.operations import CONTRACTIONS, DIFFERENCES, PRODUCTS, SHAPING, SUMS

TWO_SIDED = frozenset(
    {"mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss", "kl_div", "cross_entropy", "binary_cross_entropy"}
    | {"binary_cross_entropy_with_logits", "gaussian_nll_loss"}
)
EVEN = frozenset({"pow", "abs", "huber_loss", "smooth_l1_loss", "norm", "cosh"})
"""Of one argument: what makes an error out of a difference."""


@dataclass(frozen=True, slots=True)
class Error:
    """Where a prediction meets its target."""

    op: Op
    prediction: tuple[Summand, ...]
    target: tuple[Summand, ...]
    """Empty when nothing tells the two apart."""
    bootstraps: bool = False
    """The target adds a reward (or another constant) to a network's scaled output."""

    def predicts(self, graph: Graph) -> frozenset[int]:
        return frozenset[int]().union(*(s.reach(graph) for s in self.prediction))

    def inverted(self, graph: Graph) -> frozenset[int]:
        """Parameters whose prediction was cut while the target that they bootstrap carries the gradient."""
        live = [s for s in self.prediction if not s.number and not s.scaled and not s.open and graph.reach(s.op)]
        if not self.bootstraps or len(live) < len(self.prediction):
            return frozenset()
        behind = frozenset[int]().union(*(graph.reach(s.op) for s in live))
        return behind & frozenset[int]().union(*(s.reach(graph) for s in self.target))


def errors(graph: Graph, root: int) -> list[Error]:
    """All errors that a loss is made of, nearest first."""
    return _found(graph, root, gradient=True)


def bootstrapped(graph: Graph, roots: Iterable[int]) -> set[int]:
    """Values that bootstrapped targets are made of, whether or not the loss carries any gradient."""
    found = (error for root in roots for error in _found(graph, root, gradient=False) if error.bootstraps)
    return {summand.op for error in found for summand in error.target}


def predicted_by(graph: Graph, root: int) -> frozenset[int]:
    """Parameters behind what a loss compares with bootstrapped targets, whether or not it carries any gradient."""
    found = (error for error in _found(graph, root, gradient=False) if error.bootstraps)
    return frozenset(n for error in found for summand in error.prediction for n in graph.depends(summand.op))


def _found(graph: Graph, root: int, *, gradient: bool) -> list[Error]:
    key = ("errors", root, gradient)
    if key not in graph.memo:
        graph.memo[key] = _find(graph, root, gradient=gradient)
    found: list[Error] = graph.memo[key]
    return found


def _find(graph: Graph, root: int, *, gradient: bool) -> list[Error]:
    out: list[Error] = []
    for op in head(graph, root, gradient=gradient, stop=_likelihood):
        found = _error(graph, op)
        if found is not None:
            out.append(found)
    return out


def _likelihood(graph: Graph, op: Op) -> bool:
    """`-(x - mean)² / 2var - log(std)`: a square that is part of a log-probability, not an error."""
    return op.name in SUMS and any(found.name in ("log", "logsumexp") for _, found in graph.operands(op))


def _error(graph: Graph, op: Op) -> Error | None:
    values = [found.id for operand, found in graph.operands(op) if not operand.selector]
    if op.name in TWO_SIDED and len(values) >= 2:
        return _two_sided(graph, op, values[0], values[1])
    squares = op.name in PRODUCTS | CONTRACTIONS and len(values) == 2 and values[0] == values[1]
    if (op.name in EVEN and values) or squares:
        inner = _difference(graph, values[0])
        return _one_sided(graph, op, inner) if inner is not None else None
    if op.name in PRODUCTS and len(values) == 2:
        return _expectation(graph, op, *values)
    return None


def _difference(graph: Graph, number: int) -> int | None:
    """The difference under a square, behind reshapes and clamps."""
    op = graph.ops.get(number)
    while op is not None and op.name in SHAPING and op.inputs:
        op = graph.ops.get(op.inputs[0].op)
    return op.id if op is not None and op.name in SUMS else None


def _two_sided(graph: Graph, op: Op, first: int, second: int) -> Error:
    one, two = tuple(summands(graph, first)), tuple(summands(graph, second))
    if op.name in ("cross_entropy", "kl_div", "binary_cross_entropy", "binary_cross_entropy_with_logits"):
        return Error(op, one, two, _mixes_data(graph, second))
    written = Error(op, one, two, bootstrap(graph, two))
    if written.inverted(graph):
        return written
    constant = not any(s.reach(graph) for s in one) and any(s.reach(graph) for s in two)
    if constant or (bootstrap(graph, one) and not bootstrap(graph, two)):
        one, two = two, one  # Some write the target first.
    return Error(op, one, two, bootstrap(graph, two))


def _one_sided(graph: Graph, op: Op, difference: int) -> Error | None:
    """A squared sum: what is scaled, or stands in one sum with the reward, is the target."""
    top = graph[difference]
    values = [found.id for operand, found in graph.operands(top) if not operand.selector]
    if top.name in DIFFERENCES and len(values) == 2:
        first, second = (tuple(summands(graph, v)) for v in values)
        if bootstrap(graph, first) and not bootstrap(graph, second):
            return Error(op, second, first, True)
        if bootstrap(graph, second) and not bootstrap(graph, first):
            return Error(op, first, second, True)
    parts = summands(graph, difference)
    network, others = _divided(graph, parts)
    scaled = [s for s in network if s.scaled]
    plain = [s for s in network if not s.scaled]
    if scaled and plain and others:
        return Error(op, tuple(plain), (*scaled, *others), True)
    if top.name in DIFFERENCES and len(values) == 2:
        one, two = (tuple(summands(graph, v)) for v in values)
        if not any(s.reach(graph) for s in one):
            one, two = two, one
        return Error(op, one, two)
    return Error(op, tuple(parts), ()) if network else None


def bootstrap(graph: Graph, side: tuple[Summand, ...]) -> bool:
    """A reward plus a discounted value: data, and a network's output that is scaled or stands beside it."""
    network, data = _divided(graph, side)
    still = [s for s in network if not s.open and not s.scaled]  # a reward that a simulator computed from the action
    if any(s.scaled for s in network) and (data or still):
        return True
    return len(network) > len(still) and not all(s.number for s in data)


def _divided(graph: Graph, side: Iterable[Summand]) -> tuple[list[Summand], list[Summand]]:
    """What comes from a network, and the rest."""
    network: list[Summand] = []
    rest: list[Summand] = []
    for summand in side:
        (network if _from_network(graph, summand) else rest).append(summand)
    return network, rest


def _from_network(graph: Graph, summand: Summand) -> bool:
    return not summand.number and of_network(graph, summand.op)


def _expectation(graph: Graph, op: Op, first: int, second: int) -> Error | None:
    """`-(target_probabilities * log_p).sum()`: the distribution of another forward weighs this one's logs."""
    for logs, weight in ((first, second), (second, first)):
        if not log_like(graph, logs) or log_like(graph, weight) or not distribution(graph, weight):
            continue
        if _layers(graph, logs).isdisjoint(_layers(graph, weight)) and _mixes_data(graph, weight):
            return Error(op, tuple(summands(graph, logs)), tuple(summands(graph, weight)), True)
    return None


def _layers(graph: Graph, root: int) -> set[int]:
    return {op.id for op in tops(graph, root, gradient=False)}


def _mixes_data(graph: Graph, root: int) -> bool:
    """Data enters above the networks: rewards in a projected distribution."""
    return of_network(graph, root) and any(_is_data(op) for op in _above(graph, root))


def _above(graph: Graph, root: int) -> Iterator[Op]:
    return head(graph, root, gradient=False, selectors=True)


def _is_data(op: Op) -> bool:
    made_of_nothing = op.parameter is None and not op.inputs and op.kind in (Kind.INPUT, Kind.COPY)
    return made_of_nothing and op.floating and bool(op.shape)
