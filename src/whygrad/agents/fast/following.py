"""A target network that follows the trained one: copied whole, or drawn towards it a little."""

from __future__ import annotations

import torch
from torch import Tensor, nn


@torch.no_grad()
def follow(target: nn.Module, online: nn.Module, tau: float) -> None:
    """target ← (1 - tau) · target + tau · online, all parameters in one call; tau = 1 is a copy."""
    theirs: list[Tensor] = list(target.parameters())
    ours: list[Tensor] = list(online.parameters())
    if tau == 1:
        torch._foreach_copy_(theirs, ours)
    else:
        torch._foreach_lerp_(theirs, ours, tau)
