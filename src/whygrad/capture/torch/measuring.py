"""Values of traced operations, looked at where a rule may ask: which were killed, which are not finite."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from whygrad.capture.torch import functions, methods
from whygrad.capture.torch.picking import ALONG, PICKERS, place
from whygrad.capture.torch.shadow import Node
from whygrad.capture.torch.unheard import NoFunctions, NoOperations, opaque
from whygrad.trace import Kind
from whygrad.trace.facts import Facts
from whygrad.trace.operations import DIFFERENCES, EXTREMES, RECTIFIERS, SQUASHERS
from whygrad.trace.signals import GAUSSIAN

Tensor = torch.Tensor
LARGEST = 2_000_000
"""Elements of a tensor that are looked at."""
MOST_UNITS = 4096
ENOUGH = 16
"""Elements from which a variance says something."""
SATURATED = 1e-3
"""A derivative below this share of its largest value carries next to nothing back."""
BIRTHS = frozenset(
    """div reciprocal log log1p logit sqrt rsqrt exp expm1 pow rpow atanh acosh acos asin tan sinh cosh std var std_mean
    var_mean mean nanmean softmax log_softmax logsumexp cross_entropy nll_loss binary_cross_entropy norm cumprod prod
    xlogy lgamma digamma masked_fill where normalize cosine_similarity kl_div gaussian_nll_loss
    scaled_dot_product_attention log_prob""".split()
)
"""Operations that can make NaN or Inf out of values of ordinary size; the rest only passes it on."""
EDGES = {"sqrt": (0.0,), "acos": (0.0, math.pi), "asin": (-math.pi / 2, math.pi / 2)}
"""Results at which the derivative is infinite. (torch 2.13 gives zero for `norm` and `std` at zero.)"""
CHANNELLED = ("conv", "batch_norm", "group_norm", "instance_norm")
"""Operations whose units lie along the second dimension."""


def measure(node: Node, args: Any, kwargs: dict[str, Any], out: Tensor, *, attentive: bool) -> None:
    """Fill in what is worth knowing about a finished operation; what only persists is looked at now and then."""
    name = node.name
    if not out.is_floating_point() or out.is_meta or out.is_sparse or out.is_nested or opaque(out):
        return
    if node.kind is Kind.INPUT:
        look_at_input(node, out)
    if name in ALONG or name in PICKERS:
        place(facts(node), name, node.written, args, kwargs)
    if kwargs.get("reduction") == "sum":
        facts(node).summed = True
    reader = READERS.get(name)
    heard = out.requires_grad or reader is _added or (reader is _explained and out.dim() > 0)
    if attentive and reader is not None and heard and 0 < out.numel() <= LARGEST:
        reader(node, [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)], out)
    look_for_special(node, out)


def facts(node: Node) -> Facts:
    if node.facts is None:
        node.facts = Facts()
    return node.facts


def all_finite(values: Tensor) -> bool:
    """The sum of finite values is finite unless it overflows; only then are they looked at one by one."""
    return math.isfinite(methods.number(values.sum())) or methods.true(methods.all_of(functions.isfinite(values)))


def look_for_special(node: Node, out: Tensor) -> None:
    """NaN or Inf: looked for where it can arise, and wherever an operand had it."""
    tainted = any(operand.facts is not None and operand.facts.special for operand, _, _ in node.inputs)
    if not tainted and node.name not in BIRTHS:
        return
    if not 0 < out.numel() <= LARGEST:
        return
    values = methods.detach(out)
    if not all_finite(values):
        facts(node).special = "nan" if methods.true(methods.any_of(functions.isnan(values))) else "inf"
    elif out.requires_grad and any(
        methods.true(methods.any_of(torch.isclose(values, values.new_tensor(e)))) for e in _edges(node)
    ):
        facts(node).singular = True


def _edges(node: Node) -> tuple[float, ...]:
    root = node.name == "pow" and node.scalar is not None and 0 < node.scalar < 1
    return (0.0,) if root else EDGES.get(node.name, ())


def look_at_input(node: Node, tensor: Tensor) -> None:
    """Data from outside: is it finite, is it a mask?"""
    plain = type(tensor) in (Tensor, torch.nn.Parameter) and tensor.layout == torch.strided and not tensor.is_nested
    if (
        not plain
        or tensor.is_meta
        or opaque(tensor)
        or not tensor.is_floating_point()
        or not 0 < tensor.numel() <= LARGEST
    ):
        return
    with NoFunctions(), NoOperations():  # Entrances come here with the mode on.
        values = methods.detach(tensor)
        facts(node).largest = methods.number(methods.absolute(values).max())
        if not all_finite(values):
            facts(node).special = "nan" if methods.true(methods.any_of(functions.isnan(values))) else "inf"
        else:
            facts(node).mask = methods.true(methods.all_of((values == 0) | (values == 1)))
            facts(node).average = methods.number(values.mean())
            facts(node).deviation = _deviation(values)


def _deviation(values: Tensor) -> float:
    return methods.number(values.std(correction=0)) if values.numel() > 1 else 0.0  # torch warns of empty ones.


def _share(condition: Tensor) -> float:
    return methods.whole(functions.count_nonzero(condition)) / condition.numel()


def _limits(node: Node, operands: list[Tensor], out: Tensor) -> None:
    source = operands[0]
    if source is not out and source.shape == out.shape:
        facts(node).killed = _share(methods.detach(source) != methods.detach(out))


def _rectified(node: Node, _: list[Tensor], out: Tensor) -> None:
    values = methods.detach(out)
    found = facts(node)
    found.killed = 1 - methods.whole(functions.count_nonzero(values)) / values.numel()
    channels = values.dim() > 2 and any(operand.name.startswith(CHANNELLED) for operand, _, _ in node.inputs)
    along = 1 if channels else -1
    units = values.shape[along] if values.dim() > 1 else 1
    if 1 < units <= MOST_UNITS:
        found.units, found.dead = units, _bits(values.movedim(along, -1).reshape(-1, units).amax(0) == 0)


def _squashed(node: Node, _: list[Tensor], out: Tensor) -> None:
    values = methods.detach(out)
    slope = 1 - values * values if node.name == "tanh" else 4 * values * (1 - values)
    facts(node).killed = _share(slope < SATURATED)


def _extreme(node: Node, pair: list[Tensor], out: Tensor) -> None:
    """`min(x, constant)`: where the constant wins, nothing flows."""
    if len(pair) == 2 and pair[0].requires_grad != pair[1].requires_grad:
        carrying = pair[0] if pair[0].requires_grad else pair[1]
        if carrying.shape == out.shape:
            facts(node).killed = _share(methods.detach(carrying) != methods.detach(out))


def _weighed(node: Node, pair: list[Tensor], _: Tensor) -> None:
    """A product of a value with gradient and a constant: is the constant zero everywhere?"""
    if len(pair) == 2 and pair[0].requires_grad != pair[1].requires_grad:
        constant = 1 if pair[0].requires_grad else 0
        if 1 < pair[constant].numel() <= LARGEST and pair[constant].is_floating_point():
            values = methods.detach(pair[constant])
            facts(node).weight, facts(node).deviation = methods.number(values.mean()), _deviation(values)
        if pair[constant].numel() <= LARGEST and not methods.true(methods.any_of(pair[constant])):
            facts(node).nothing = constant


def _reduced(node: Node, operands: list[Tensor], _: Tensor) -> None:
    if operands and not operands[0].numel():
        facts(node).empty = True


def _ratio(node: Node, _: list[Tensor], out: Tensor) -> None:
    values = methods.double(methods.detach(out))
    if node.spread is not None and methods.true(methods.all_of(values > 0)):
        facts(node).divergence = methods.number((values - 1 - values.log()).mean())
        facts(node).mean = methods.number(values.mean())


def _added(node: Node, pair: list[Tensor], out: Tensor) -> None:
    """A reward and a discounted value; or what makes a Gaussian's entropy of the logarithm of its scale."""
    if not out.requires_grad:
        if len(pair) == 2 and out.dim():
            facts(node).addends = (_largest(pair[0]), _largest(pair[1]))
            means = (methods.number(methods.double(methods.detach(value)).mean()) for value in pair)
            facts(node).averages = tuple(means)
    elif node.scalar is not None and math.isclose(node.scalar, GAUSSIAN, rel_tol=1e-6) and out.dim() > 1:
        facts(node).mean = methods.number(methods.double(methods.detach(out)).sum(-1).mean())


def _largest(values: Tensor) -> float:
    """The largest magnitude; a truth value counts as 0 or 1, and has no magnitude for torch."""
    return methods.number((values if values.dtype == torch.bool else methods.absolute(values)).max())


def _undecided(node: Node, operands: list[Tensor], out: Tensor) -> None:
    """How far a distribution is from a decision: 1 is uniform, 0 is one choice."""
    along = node.facts.dim if node.facts is not None else None
    source = methods.detach(operands[0])
    if along is None or along != source.dim() - 1 or source.shape[-1] < 2 or not source.shape[0]:
        return
    logs = methods.detach(out) if node.name == "log_softmax" else torch.log_softmax(source.float(), -1)
    share = -(logs.exp() * logs.clamp_min(-1e4)).sum(-1).mean() / math.log(source.shape[-1])
    facts(node).undecided = methods.number(share)


def _explained(node: Node, pair: list[Tensor], out: Tensor) -> None:
    """A prediction against its target: the part of the target's variance that it accounts for.

    Of a difference of constants, what something is taken off from: a reward, less its baseline.
    """
    if not out.requires_grad:
        if node.name == "sub" and pair and pair[0].is_floating_point():
            values = methods.detach(pair[0])
            facts(node).goal, facts(node).deviation = methods.number(values.mean()), _deviation(values)
        return
    if len(pair) != 2 or pair[0].shape != pair[1].shape or pair[0].requires_grad == pair[1].requires_grad:
        return
    prediction, target = (methods.double(methods.detach(p)) for p in (pair if pair[0].requires_grad else pair[::-1]))
    missed = target - prediction
    facts(node).gap, facts(node).goal = methods.number(methods.absolute(missed).mean()), methods.number(target.mean())
    facts(node).deviation = _deviation(target)
    if target.numel() >= ENOUGH:
        facts(node).typical = methods.number(methods.absolute(prediction).mean())
        variance = methods.number(target.var())
        if variance > 0:
            facts(node).explained = 1 - methods.number(missed.var()) / variance
            facts(node).missed = methods.number(missed.pow(2).mean()) / variance


def _bits(flags: Tensor) -> int:
    return sum(1 << place for place, flag in enumerate(methods.tolist(flags)) if flag)


READERS: dict[str, Callable[[Node, list[Tensor], Tensor], None]] = {
    "clamp": _limits,
    **dict.fromkeys(RECTIFIERS, _rectified),
    **dict.fromkeys(SQUASHERS, _squashed),
    **dict.fromkeys(EXTREMES, _extreme),
    "mul": _weighed,
    **dict.fromkeys(("mean", "nanmean", "std", "var"), _reduced),
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp"), _undecided),
    **dict.fromkeys(("mse_loss", "smooth_l1_loss", "huber_loss", *DIFFERENCES), _explained),
    "add": _added,
    **dict.fromkeys(("exp", "div"), _ratio),
}
