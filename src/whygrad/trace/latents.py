"""Drawn values that go on into a network while only a penalty trains the network they were drawn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whygrad.trace.anatomy import layer, tops
from whygrad.trace.graph import Graph, Op
from whygrad.trace.ledger import Backward
from whygrad.trace.losses import latest
from whygrad.trace.operations import JOINS, SHAPING
from whygrad.trace.trace import Trace

DRAWING = frozenset({"multinomial", "bernoulli", "poisson", "binomial"})
LABELLED = frozenset(
    {"cross_entropy", "nll_loss", "gather", "binary_cross_entropy", "mse_loss", "kl_div"}
    | {"binary_cross_entropy_with_logits", "smooth_l1_loss", "l1_loss", "huber_loss"}
)
"""What compares an output with data: then the network learns from labels, and its samples may be mere data."""
PASSING = SHAPING | JOINS | {"one_hot"}


@dataclass(frozen=True, slots=True)
class Latent:
    """A sample without gradient that a trained layer takes in."""

    backward: Backward
    sample: Op
    into: Op
    """The layer that takes it in."""
    parameters: frozenset[int]
    """The last layer of the network whose distribution it was drawn from."""


def latents(trace: Trace) -> list[Latent]:
    """Nothing that is done with the sample teaches the network which samples are good: no gradient, no score."""
    found: dict[object, Latent] = {}
    everywhere = list(latest(trace))
    for backward in everywhere:
        assert backward.root is not None
        reached = trace.graph.reach(backward.root)
        for into, sample in _taken_in(trace.graph, backward.root):
            made = frozenset(n for top in _source(trace.graph, sample) for n in _direct(trace.graph, top))
            elsewhere = any(made & b.deposits for b in everywhere if (b.site, b.made) != (backward.site, backward.made))
            trained = bool(made) and all(trace.parameter(n).consumed for n in made) and made <= reached
            if trained and not elsewhere and not _taught(trace.graph, backward.root, sample, made):
                found.setdefault(sample.site, Latent(backward, sample, into, made))
    return list(found.values())


def _source(graph: Graph, sample: Op) -> list[Op]:
    """The last layers of the network that made the distribution."""
    return [top for operand in sample.inputs for top in tops(graph, operand.op, gradient=False)]


def _taken_in(graph: Graph, root: int) -> Iterator[tuple[Op, Op]]:
    """Layers that gradient passes through, each with a sample among its operands."""
    for op in graph.carrying(root):
        if layer(graph, op):
            for operand, found in graph.operands(op):
                if found.parameter is None and not operand.selector:
                    yield from ((op, sample) for sample in _samples(graph, found))


def _samples(graph: Graph, start: Op) -> Iterator[Op]:
    """What a value consists of, as it is, that was drawn from a distribution."""
    stack, seen = [start], {start.id}
    while stack:
        op = stack.pop()
        if op.name in DRAWING:
            yield op
        elif op.name in PASSING:
            fresh = [found for _, found in graph.operands(op) if found.id not in seen]
            seen.update(found.id for found in fresh)
            stack.extend(fresh)


def _taught(graph: Graph, root: int, sample: Op, made: frozenset[int]) -> bool:
    """Gradient gets to the network through another one, or where the sample meets its own distribution again."""
    own = {top.id for top in _source(graph, sample)}
    for number in graph.carriers(root):
        op = graph[number]
        if not graph.reach(number) & made or op.parameter is not None:
            continue
        if layer(graph, op) and number not in own and not _direct(graph, op) & made:
            return True  # Judged by another network.
        if op.name in LABELLED:
            return True
        if any(_contains(graph, found, sample) for _, found in graph.operands(op)):
            return True  # A log-probability of the sample, or a straight-through sum.
    return False


def _contains(graph: Graph, start: Op, sample: Op) -> bool:
    """Whether a value without gradient was computed from the sample, by anything but a network."""
    stack, seen = [start], {start.id}
    while stack:
        op = stack.pop()
        if op.id == sample.id:
            return True
        if op.id < sample.id or layer(graph, op):
            continue
        fresh = [found for _, found in graph.operands(op) if found.id not in seen]
        seen.update(found.id for found in fresh)
        stack.extend(fresh)
    return False


def _direct(graph: Graph, op: Op) -> frozenset[int]:
    return frozenset(found.parameter for _, found in graph.operands(op) if found.parameter is not None)
