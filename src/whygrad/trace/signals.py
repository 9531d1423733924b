"""Quantities of reinforcement learning, recognised by their form in the graph of a loss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from whygrad.trace.anatomy import behind_shaping, formula, heads
from whygrad.trace.errors import Error, errors
from whygrad.trace.graph import Graph, Op
from whygrad.trace.ledger import Backward
from whygrad.trace.likeness import score_like
from whygrad.trace.operations import PRODUCTS
from whygrad.trace.ratios import Ratio, of_loss
from whygrad.trace.site import Site

GAUSSIAN = 0.5 + 0.5 * math.log(2 * math.pi)
"""What the entropy of a normal distribution adds to the logarithm of its scale."""


@dataclass(frozen=True, slots=True)
class Signal:
    name: str
    value: float
    op: Op | None = None
    """The operation of whose result it is the mean (of errors: the mean of their size)."""
    operand: tuple[Site, int] | None = None
    """Or the operand of an expression."""


def signals(graph: Graph, backward: Backward, root: int, *, policy: bool) -> list[Signal]:
    """Of one loss. `policy`: some loss of the run weighs log-probabilities, so a value is a critic's."""
    ratio = next(iter(of_loss(graph, backward, root)), None)
    weighing = _weighing(graph, root)
    found = list(_of_ratio(graph, root, ratio)) if ratio is not None else []
    if weighing is not None:
        op, score = weighing
        assert op.facts is not None
        assert op.facts.weight is not None
        place = (op.site, 1 - [i.op for i in op.inputs].index(score)) if op.site is not None else None
        found.append(Signal("advantage", op.facts.weight, operand=place))
    found += _entropy(graph, root, [ratio.new] if ratio is not None else [weighing[1]] if weighing is not None else [])
    return found + list(_value(graph, root, policy or bool(found)))


def acts(found: list[Signal]) -> bool:
    """Whether a policy is trained here."""
    return any(signal.name in ("ratio", "advantage", "entropy") for signal in found)


def _of_ratio(graph: Graph, root: int, ratio: Ratio) -> Iterator[Signal]:
    facts = ratio.op.facts
    if facts is not None and facts.mean is not None:
        yield Signal("ratio", facts.mean, ratio.op)
    if facts is not None and facts.divergence is not None:
        yield Signal("approx_kl", facts.divergence)
    for op in formula(graph, root):
        clips = op.name == "clamp" and any(i.op == ratio.op.id for i in op.inputs)
        if clips and op.facts is not None and op.facts.killed is not None:
            yield Signal("clip_fraction", op.facts.killed)
            return


def _weighing(graph: Graph, root: int) -> tuple[Op, int] | None:
    """The product of log-probabilities (or a ratio of them) with numbers, and which operand they are."""
    for op in formula(graph, root):
        if op.name not in PRODUCTS or len(op.inputs) != 2 or op.facts is None or op.facts.weight is None:
            continue
        carrying = [i.op for i in op.inputs if op.passes(i)]
        others = [found for i, found in graph.operands(op) if not op.passes(i)]
        mask = any(found.facts is not None and found.facts.mask for found in others)
        if len(carrying) == 1 and not mask and score_like(graph, carrying[0]):
            return op, carrying[0]
    return None


def _entropy(graph: Graph, root: int, scores: list[int]) -> Iterator[Signal]:
    """Of the distribution that the actions are scored by, in nats."""
    for op in formula(graph, root):
        gaussian = op.scalar is not None and math.isclose(op.scalar, GAUSSIAN, rel_tol=1e-6)
        if gaussian and op.facts is not None and op.facts.mean is not None:
            yield Signal("entropy", op.facts.mean)
            return
    for op in heads(graph, scores):
        source = graph.ops.get(op.inputs[0].op) if op.inputs else None
        if op.facts is not None and op.facts.undecided is not None and source is not None and source.shape:
            yield Signal("entropy", op.facts.undecided * math.log(source.shape[-1]))
            return


def _value(graph: Graph, root: int, policy: bool) -> Iterator[Signal]:
    """One number per state (or per action taken) against what it should have been."""
    for error in errors(graph, root):
        compared = _compared(graph, error)
        if compared is None or not _single(graph, error, compared):
            continue
        facts = compared.facts
        assert facts is not None
        from_data = not any(graph.made_from(s.op) for s in error.target if not s.number)
        if error.bootstraps and facts.gap is not None:
            yield Signal("td_error", facts.gap, compared if compared.id != error.op.id else None)
        elif policy and error.target and from_data and facts.goal is not None:
            yield Signal("return", facts.goal)
        else:
            continue
        if facts.explained is not None:
            yield Signal("explained_variance", facts.explained)
        return


def _compared(graph: Graph, error: Error) -> Op | None:
    """Where prediction and target met: in the error itself, or in the difference that it squares."""
    candidates = [error.op, *(found for _, found in graph.operands(error.op))]
    return next((op for op in candidates if op.facts is not None and op.facts.gap is not None), None)


def _single(graph: Graph, error: Error, compared: Op) -> bool:
    if len(compared.shape) < 2 or compared.shape[-1] == 1:
        return True
    made = behind_shaping(graph, error.prediction[0].op) if len(error.prediction) == 1 else None
    return made is not None and made.name == "linear" and made.shape[-1:] == (1,)
