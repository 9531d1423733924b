"""How large gradients are along the depth of a network and over the run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from whygrad.trace.ledger import Backward
from whygrad.trace.trace import Trace

GROWTH = 1e3
"""Largest gradient now over that of the first updates. Values that grow while an agent learns make it ten or a
hundred times larger, and then it settles."""
STILL = 5.0
"""Growth from each of the latest evaluations to the next."""
LARGE = 1e3
FIRST = 3


@dataclass(slots=True)
class Layer:
    """A layer in order of use, nearest the input first, and the largest gradient of its weight."""

    parameter: int
    size: float


def depth(trace: Trace, backward: Backward) -> list[Layer]:
    """Weights of layers by when the forward used them."""
    graph = trace.graph
    out: dict[int, Layer] = {}
    assert backward.root is not None
    for number in sorted(graph.carriers(backward.root)):
        op = graph[number]
        weights = [f.parameter for _, f in graph.operands(op) if f.parameter is not None and len(f.shape) > 1]
        for parameter in weights if op.layer else ():
            if parameter in backward.largest:
                out.setdefault(parameter, Layer(parameter, backward.largest[parameter]))
    return list(out.values())


def by_loss(trace: Trace) -> list[list[Backward]]:
    """Traced backwards of one loss, oldest first."""
    groups: dict[object, list[Backward]] = {}
    for backward in trace.backwards:
        if backward.how == "backward" and backward.largest:
            groups.setdefault((backward.site, backward.library), []).append(backward)
    return list(groups.values())


def size(backward: Backward) -> float:
    """The largest magnitude anywhere in the gradient."""
    sizes = [s for s in backward.largest.values() if not math.isnan(s)]
    return max(sizes, default=0.0)


@dataclass(slots=True)
class Exploding:
    """A loss whose gradient grew and keeps growing."""

    backwards: list[Backward]
    sizes: list[float]
    start: float


def exploding(trace: Trace) -> list[Exploding]:
    out = []
    for group in by_loss(trace):
        sizes = [size(backward) for backward in group]
        if len(sizes) < FIRST + 2:
            continue
        start = max(median(sizes[:FIRST]), 1e-12)
        rising = sizes[-1] > STILL * sizes[-2] > STILL**2 * sizes[-3] or sizes[-1] == float("inf")
        if sizes[-1] > LARGE and sizes[-1] / start > GROWTH and rising:
            out.append(Exploding(group, sizes, start))
    return out
