"""Why a parameter is not reached: the cheapest path from a loss to it, and what blocks it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from whygrad.trace import deadline
from whygrad.trace.errors import bootstrapped
from whygrad.trace.graph import Graph, Input, Kind, Op, Region
from whygrad.trace.operations import EXTREMES, JOINS, RANDOM, SCALINGS, SUMS

SCORING = frozenset(
    {"log_softmax", "softmax", "log", "log1p", "logsumexp", "logsigmoid", "exp", "pow", "lgamma", "softplus"}
    | {"cross_entropy", "nll_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss", "kl_div", "gumbel_softmax"}
    | {"binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss", "digamma", "xlogy"}
)

# What one blocker on a path costs. Accidental copies are likelier causes than cuts that people make
# on purpose, and a discrete choice is the least likely to be what was meant to carry gradient.
COSTS = {Kind.COPY: 1.0, Kind.LEAVE: 1.0, Kind.FLAG: 0.1, Kind.DETACH: 1.1, Kind.DISCRETE: 2.0}
REGION_COSTS = {"user": 1.2, "sample": 1.3, "checkpoint": 1.0, "function": 1.0, "library": 3.0}
INFERRED_COST = 0.3
TARGET_COST = 1.0
"""A bootstrapped target is cut on purpose: of two ways to a network, the one by the prediction was meant."""
DEAREST = 3.5


@dataclass(frozen=True, slots=True)
class Path:
    """From a loss (or a term) to a parameter, loss first."""

    ops: tuple[int, ...]
    cost: float
    parameter: int
    blockers: tuple[int, ...]
    inferred: bool


@dataclass(slots=True)
class _Visit:
    cost: float
    previous: int | None
    inferred: bool
    chosen: bool
    """The path runs through an index, a mask or a condition."""


def paths(
    graph: Graph,
    roots: Iterable[int],
    targets: frozenset[int],
    alive: frozenset[int],
    fresh: frozenset[int] = frozenset(),
    avoided: frozenset[int] = frozenset(),
) -> dict[int, Path]:
    """The cheapest plausible path to each target, where there is one; none runs through what is `avoided`.

    `alive` are the parameters that training moves: where one operand of a product or of an error
    carries gradient to them, the other operand is a constant on purpose. `fresh` ones get gradient
    and were forgotten: a factor in front of them is a weight all the same.
    """
    visits: dict[int, _Visit] = {}
    roots = list(roots)
    constant = bootstrapped(graph, roots) if targets else set()
    # Of equally cheap ways the newer operation wins: what the update made, not what was set up before it.
    queue: list[tuple[float, int, int, bool, bool, bool]] = [(0.0, -r, 0, False, False, False) for r in roots]
    heapq.heapify(queue)
    found: dict[int, Path] = {}
    played: set[int] = set()
    deadline.check()
    while queue:
        cost, negative, before, layered, inferred, chosen = heapq.heappop(queue)
        number, previous = -negative, -before or None
        if number in visits or number not in graph.ops or cost > DEAREST or number in avoided:
            continue
        op = graph[number]
        visits[number] = _Visit(cost, previous, inferred, chosen)
        if not len(visits) % deadline.OFTEN:
            deadline.check()
        if op.parameter is not None:
            if op.parameter in targets:
                path = _path(graph, visits, number, op.parameter)
                if not _acting(graph, path, chosen=chosen):
                    found[op.parameter] = path
                else:
                    played.update(path.blockers)
            continue
        paid = cost + _toll(graph, op, graph.ops.get(previous) if previous is not None else None)
        for operand in _followed(graph, op, layered, alive | fresh if op.name in SCALINGS else alive):
            extra = INFERRED_COST * (operand.inferred + operand.selector) + TARGET_COST * (operand.op in constant)
            through = (layered or op.layer, inferred or operand.inferred, chosen or operand.selector)
            heapq.heappush(queue, (paid + extra, -operand.op, -number, *through))
    if played:  # A cheap way through the rollout may hide one through the loss itself.
        rest = targets - found.keys()
        return found | paths(graph, roots, rest, alive, fresh, avoided | played)
    return found


def _toll(graph: Graph, op: Op, nearer_loss: Op | None) -> float:
    """What it costs to cross this operation against a blocked gradient."""
    if op.kind is Kind.COPY and any(_paid_below(op, found) for _, found in graph.operands(op)):
        return 0.0
    if op.kind is Kind.DETACH and nearer_loss is not None and nearer_loss.kind is Kind.LEAVE:
        return 0.0
    if op.kind is Kind.DISCRETE and not any(found.floating for _, found in graph.operands(op)):
        return 0.0  # The choice was made before; this only rewrites it: `one_hot(argmax)`.
    if op.kind in COSTS:
        return COSTS[op.kind]
    if op.region is None or op.requires_grad:
        return 0.0
    same = nearer_loss is not None and nearer_loss.region is not None and nearer_loss.region.id == op.region.id
    return 0.0 if same else REGION_COSTS.get(op.region.by, 3.0)


def _paid_below(copy: Op, operand: Op) -> bool:
    """The value had left torch before it was copied, or one call shows as two: `FloatTensor` reads out, then builds."""
    return operand.kind is Kind.LEAVE or (operand.kind is Kind.COPY and operand.site == copy.site)


def _followed(graph: Graph, op: Op, layered: bool, alive: frozenset[int]) -> list[Input]:
    """Operands worth following: values, and among the operands of a loss only what is not constant on purpose.

    An index is followed only where it alone decides: nothing that it chooses from carries gradient.
    """
    known = [i for i in op.inputs if i.op in graph.ops]
    values = [i for i in known if not i.selector]
    if not any(i.carries for i in values):
        return known
    weighing = not (layered or op.layer or op.name in SUMS or op.name in JOINS or op.name in EXTREMES)
    if len(values) > 1 and weighing and not op.blocks:
        carrying = [i for i in values if op.passes(i)]
        living = [i for i in carrying if graph.reach(i.op) & alive]
        if living and (op.name not in SCALINGS or any(_scores(graph, i.op) for i in living)):
            return carrying
    return values


def _scores(graph: Graph, start: int) -> bool:
    """Whether a factor is a log-probability, a probability, a ratio, an error or a bare parameter.

    What is left is the plain output of a network: a factor of that was meant to train as well.
    """
    stack, seen, layers = [start], {start}, 0
    while stack:
        op = graph.ops.get(stack.pop())
        if op is None or op.layer:
            layers += op is not None
            continue
        if op.name in SCORING:
            return True
        fresh = [i.op for i in op.inputs if i.op not in seen and not i.selector]
        seen.update(fresh)
        stack.extend(fresh)
    return not layers


def _path(graph: Graph, visits: dict[int, _Visit], end: int, parameter: int) -> Path:
    ops = [end]
    visit = visits[end]
    while visit.previous is not None:
        ops.append(visit.previous)
        visit = visits[visit.previous]
    ops.reverse()
    blockers = tuple(n for n in ops if graph[n].blocks)
    return Path(tuple(ops), visits[end].cost, parameter, blockers, visits[end].inferred)


def _acting(graph: Graph, path: Path, *, chosen: bool) -> bool:
    """Whether the path runs through an action that was drawn while gradient was off, or used as an index: a rollout."""
    regions = [graph[n].region for n in path.blockers]
    off = any(r is not None and r.by in ("user", "library") for r in regions)
    if off and chosen and any(graph[n].kind is Kind.DISCRETE for n in path.ops):
        return True  # The best of several candidates, picked by number and played.
    return (off or chosen) and any(_draws(graph, graph[n]) for n in path.ops)


def _draws(graph: Graph, op: Op) -> bool:
    region: Region | None = op.region
    if (region is not None and region.by == "sample") or op.name in RANDOM:
        return True
    noisy = op.name in SUMS or op.name in SCALINGS
    return noisy and op.region is not None and any(_noise(graph, found) for _, found in graph.operands(op))


def _noise(graph: Graph, op: Op) -> bool:
    """Random numbers, also scaled: `0.1 * torch.randn(...)`."""
    scaled = op.name in SCALINGS and any(found.name in RANDOM for _, found in graph.operands(op))
    return scaled or op.name in RANDOM


def only_through(graph: Graph, root: int, *gates: int) -> frozenset[int]:
    """Parameters that gradient from the root reaches through these operations and in no other way."""
    around: set[int] = set()
    stack, seen = [root] if root not in gates else [], {root, *gates}
    while stack:
        op = graph.ops.get(stack.pop())
        if op is None:
            continue
        if op.parameter is not None:
            around.add(op.parameter)
        for operand in op.inputs:
            if operand.op not in seen and op.passes(operand):
                seen.add(operand.op)
                stack.append(operand.op)
    return frozenset[int]().union(*(graph.reach(gate) for gate in gates)) - around
