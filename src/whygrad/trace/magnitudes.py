"""How large gradients are along the depth of a network and over the run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from whygrad.trace.ledger import Backward
from whygrad.trace.site import Site
from whygrad.trace.trace import Trace


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
    for op in graph.carrying(backward.root):
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


@dataclass(frozen=True, slots=True)
class Growth:
    """What counts as growth without bound; the rule that says so holds the numbers and their reasons."""

    times: float
    still: float
    large: float
    first: int


def exploding(trace: Trace, growth: Growth) -> list[Exploding]:
    found = rising(trace, growth)
    trace.known["exploding"] = found
    return found


def exploded(trace: Trace) -> set[Site | None]:
    """Backward calls that WG504 has spoken about, by the project's own numbers: it runs before who asks here."""
    found: list[Exploding] = trace.known.get("exploding", [])
    return {one.backwards[-1].site for one in found}


def rising(trace: Trace, growth: Growth) -> list[Exploding]:
    """Losses whose gradient has grown so much, and from each of the latest traced updates to the next."""
    return [found for found in grown(trace, growth) if _rising(found.sizes, growth.still)]


def _rising(sizes: list[float], still: float) -> bool:
    return sizes[-1] > still * sizes[-2] > still**2 * sizes[-3] or sizes[-1] == float("inf")


def grown(trace: Trace, growth: Growth) -> list[Exploding]:
    """Losses whose gradient is far larger than it was, whether or not it has settled there."""
    out = []
    for group in by_loss(trace):
        sizes = [size(backward) for backward in group]
        if len(sizes) < growth.first + 2:
            continue
        start = max(median(sizes[: growth.first]), 1e-12)
        if sizes[-1] > growth.large and sizes[-1] / start > growth.times:
            out.append(Exploding(group, sizes, start))
    return out
