"""The leaves that autograd's own graph leads to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


def leaves(roots: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Tensors that a backward from here would write gradients of; known even after the graph's values are freed."""
    found: dict[int, torch.Tensor] = {}
    stack: list[Any] = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(stack)
    while stack:
        function = stack.pop()
        variable = getattr(function, "variable", None)
        if variable is not None:
            found[id(variable)] = variable
        for following, _ in function.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return list(found.values())
