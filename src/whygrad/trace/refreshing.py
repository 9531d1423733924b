"""Networks that follow another one by copying, and those that should and do not."""

from __future__ import annotations

from dataclasses import dataclass

from whygrad.trace.anatomy import depends, tops
from whygrad.trace.errors import Error, errors
from whygrad.trace.graph import Op
from whygrad.trace.ledger import Backward, Copy
from whygrad.trace.losses import latest
from whygrad.trace.trace import Trace


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


@dataclass(slots=True)
class Lagging:
    """A target network that stays where it began while the trained one moves on."""

    backward: Backward
    error: Error
    parameters: frozenset[int]
    forward: Op
    copy: Copy | None
    """The statement that should have refreshed it and does not."""


def lagging(trace: Trace) -> list[Lagging]:
    """Networks behind a bootstrapped target that nothing has moved since training began."""
    graph = trace.graph
    out: dict[frozenset[int], Lagging] = {}
    trained = {p.id for p in trace.parameters if p.consumed}
    for backward in latest(trace):
        assert backward.root is not None
        for error in errors(graph, backward.root):
            if not error.bootstraps:
                continue
            for summand in error.target:
                behind = depends(graph, summand.op) - trained
                still = frozenset(n for n in behind if trace.parameter(n).moved is False and n not in trained)
                follows = still and all(_same_shape(trace, n, error.predicts(graph)) for n in still)
                layers = tops(graph, summand.op, gradient=False)
                if follows and layers and len(still) * 2 > len(behind):
                    copy = next((c for c in reversed(trace.copies) if c.into & still), None)
                    out.setdefault(still, Lagging(backward, error, still, graph[summand.op], copy))
    return list(out.values())


def _same_shape(trace: Trace, number: int, online: frozenset[int]) -> bool:
    shape = trace.parameter(number).shape
    return any(trace.parameter(n).shape == shape for n in online) or bool(trace.parameter(number).derived_from)
