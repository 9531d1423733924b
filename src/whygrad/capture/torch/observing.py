"""The few facts about an operation's values that some rule needs: numbers as written, modes, ratios."""

from __future__ import annotations

from typing import Any

import torch

from whygrad.capture.search import is_a, real
from whygrad.capture.torch import measuring, methods
from whygrad.capture.torch.shadow import Node
from whygrad.capture.torch.vocabulary import MODAL, SCALED
from whygrad.trace.operations import DIFFERENCES

BETWEEN = frozenset({"clamp", "sum", "mean", "select", "masked_select", "squeeze", "reshape"})
"""What may stand between the difference of two log-probabilities and its `exp`."""
LARGEST = 1_000_000
"""Elements of a possible ratio that are looked at."""
OFF = 1e-3
SQUARES = ("square", "square_")


def observe(node: Node, args: Any, kwargs: Any, out: torch.Tensor, *, attentive: bool) -> None:
    name = node.name
    if name in SCALED:
        numbers = [a for a in (*args, *kwargs.values()) if is_a(a, (int, float)) and type(a) is not bool]
        node.scalar = real(numbers[0]) if numbers else 2.0 if node.written in SQUARES else None
        if name == "clamp" and not node.written.endswith("_"):
            node.scalar = _floor(node.written, args, kwargs)
    elif name in MODAL and kwargs.get("p", 1.0):
        node.training = bool(kwargs.get("training", False))
    if name in ("exp", "div") and node.requires_grad and _may_be_ratio(node) and 0 < out.numel() <= LARGEST:
        distance = methods.absolute(methods.detach(out) - 1.0)
        node.spread, node.off = methods.number(distance.max()), methods.number((distance > OFF).float().mean())
    measuring.measure(node, args, kwargs, out, attentive=attentive)


def _floor(written: str, args: Any, kwargs: Any) -> float | None:
    """The number below which a clamp lets nothing through, where it has no other bound."""
    low, high = ({**dict(zip(("min", "max"), args[1:], strict=False)), **kwargs}.get(key) for key in ("min", "max"))
    one_sided = written == "clamp_min" or (written in ("clamp", "clip") and high is None)
    return real(low) if one_sided and is_a(low, (int, float)) else None


def _may_be_ratio(node: Node) -> bool:
    """`exp` of a difference, or a quotient of two tensors."""
    if node.name == "exp":
        inner = node.inputs[0][0] if node.inputs else None
        while inner is not None and inner.name in BETWEEN and inner.inputs:
            inner = inner.inputs[0][0]
        return inner is not None and inner.name in DIFFERENCES and len(inner.inputs) > 1
    return len(node.inputs) > 1
