"""The few facts about an operation's values that some rule needs: numbers as written, modes, ratios."""

from __future__ import annotations

from typing import Any

import torch

from whygrad.capture.search import is_a, real
from whygrad.capture.torch import measuring, methods
from whygrad.capture.torch.shadow import Node
from whygrad.capture.torch.vocabulary import MODAL, RATIOS, SCALED

BETWEEN = frozenset({"clamp", "clip", "sum", "mean", "__getitem__", "masked_select", "squeeze", "reshape", "view"})
"""What may stand between the difference of two log-probabilities and its `exp`."""
LARGEST = 1_000_000
"""Elements of a possible ratio that are looked at."""
OFF = 1e-3


def observe(node: Node, args: Any, kwargs: Any, out: torch.Tensor, *, attentive: bool) -> None:
    name = node.name
    if name.removeprefix("_foreach_") in SCALED:
        numbers = [a for a in (*args, *kwargs.values()) if is_a(a, (int, float)) and type(a) is not bool]
        node.scalar = real(numbers[0]) if numbers else None
    elif name in MODAL and kwargs.get("p", 1.0):
        node.training = bool(kwargs.get("training", False))
    if name in RATIOS and node.requires_grad and _may_be_ratio(node) and 0 < out.numel() <= LARGEST:
        distance = methods.absolute(methods.detach(out) - 1.0)
        node.spread, node.off = methods.number(distance.max()), methods.number((distance > OFF).float().mean())
    measuring.measure(node, args, kwargs, out, attentive=attentive)


def _may_be_ratio(node: Node) -> bool:
    """`exp` of a difference, or a quotient of two tensors."""
    if node.name == "exp":
        inner = node.inputs[0][0] if node.inputs else None
        while inner is not None and inner.name in BETWEEN and inner.inputs:
            inner = inner.inputs[0][0]
        return inner is not None and inner.name in ("sub", "rsub") and len(inner.inputs) > 1
    return len(node.inputs) > 1
