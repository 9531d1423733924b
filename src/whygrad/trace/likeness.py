"""What a value is like: a log-probability, a ratio, a distribution."""

from __future__ import annotations

from whygrad.trace.anatomy import holds_above
from whygrad.trace.graph import Graph, Op
from whygrad.trace.operations import LOGS, PROBABILITIES


def log_like(graph: Graph, root: int, *, gradient: bool = True) -> bool:
    """A log-probability or a cross entropy; what an exponential makes of one is a probability."""
    return holds_above(graph, root, "log-like", _is_log, gradient=gradient, stop=_exponential)


def score_like(graph: Graph, root: int) -> bool:
    """A log-probability, or a ratio made of them."""
    return holds_above(graph, root, "logs", _is_log)


def probability_like(graph: Graph, root: int) -> bool:
    """Something made of probabilities."""
    return holds_above(graph, root, "probabilities", _is_probability)


def distribution(graph: Graph, root: int) -> bool:
    """Probabilities, as such or as the exponential of their logarithms, cut or not."""

    def either(op: Op) -> bool:
        return _is_probability(op) or (op.name == "exp" and holds_above(graph, op.id, "logs", _is_log, gradient=False))

    return holds_above(graph, root, "distribution", either, gradient=False)


def _is_log(op: Op) -> bool:
    return op.name in LOGS


def _is_probability(op: Op) -> bool:
    return op.name in PROBABILITIES


def _exponential(graph: Graph, op: Op) -> bool:
    del graph
    return op.name in ("exp", "softmax")
