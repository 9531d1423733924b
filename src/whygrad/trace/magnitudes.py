"""How large gradients are along the depth of a network and over the run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from whygrad.trace.ledger import Backward, Step
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
        if not op.layer:
            continue
        weights = [f.parameter for _, f in graph.operands(op) if f.parameter is not None and len(f.shape) > 1]
        for parameter in weights:
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


def applied(trace: Trace, step: Step) -> float | None:
    """The largest magnitude in the gradients that a step applied; None where nobody measured them."""
    by_number = trace.once("backwards by number", lambda: {b.id: b for b in trace.backwards})
    found = [
        by_number[deposits[-1]].largest.get(parameter)
        for parameter, deposits in step.consumed.items()
        if deposits and deposits[-1] in by_number
    ]
    return max((size for size in found if size is not None), default=None)


@dataclass(slots=True)
class Exploding:
    """A loss whose gradient grew, up to the last of these backwards."""

    backwards: list[Backward]
    sizes: list[float]
    start: float
    after: Backward | None = None
    """The next traced one, at which it grew no more."""
    diverged: bool = False
    """It ended in NaN."""

    @property
    def settled(self) -> bool:
        return self.after is not None and not self.diverged


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
    return {one.backwards[-1].site for one in found if not one.settled}


def rising(trace: Trace, growth: Growth) -> list[Exploding]:
    """Losses whose gradient had grown so much, and from each of three looks to the next, at the latest such time."""
    return [found for group in by_loss(trace) if (found := _last_rise(group, growth)) is not None]


def _last_rise(group: list[Backward], growth: Growth) -> Exploding | None:
    sizes = [size(backward) for backward in group]
    start = max(median(sizes[: growth.first]), 1e-12)
    for end in range(len(group), growth.first + 1, -1):
        if _far(sizes[end - 1], start, growth) and _rising(sizes[:end][-3:], growth.still):
            after = group[end] if end < len(group) else None
            diverged = any(math.isnan(value) for backward in group[end:] for value in backward.largest.values())
            return Exploding(group[:end], sizes[:end], start, after, diverged)
    return None


def _far(now: float, start: float, growth: Growth) -> bool:
    return now > growth.large and now / start > growth.times


def _rising(latest: list[float], still: float) -> bool:
    return latest[-1] > still * latest[-2] > still**2 * latest[-3] or latest[-1] == float("inf")


def grown(trace: Trace, growth: Growth) -> list[Exploding]:
    """Losses whose gradient is far larger than it was, whether or not it has settled there."""
    out = []
    for group in by_loss(trace):
        sizes = [size(backward) for backward in group]
        start = max(median(sizes[: growth.first]), 1e-12)
        if len(sizes) >= growth.first + 2 and _far(sizes[-1], start, growth):
            out.append(Exploding(group, sizes, start))
    return out
