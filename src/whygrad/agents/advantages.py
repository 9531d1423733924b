"""Returns and advantages, with termination and truncation told apart."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from whygrad.agents.spaces import Array


@torch.no_grad()
def gae(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    terminated: Tensor,
    ended: Tensor,
    gamma: float,
    trace: float,
) -> Tensor:
    """Advantages of a rollout; all tensors have shape (steps, environments).

    A step that terminated has nothing after it. One that was truncated has: `next_values` holds the value of the
    observation it would have gone on from. Either way the sum stops there, since the next row is another episode.
    """
    errors = rewards + gamma * (1 - terminated) * next_values - values
    decays = gamma * trace * (1 - ended)
    running = torch.zeros_like(rewards[0])
    backwards = []
    for error, decay in zip(reversed(errors.unbind(0)), reversed(decays.unbind(0)), strict=True):
        running = torch.addcmul(error, decay, running)
        backwards.append(running)
    return torch.stack(backwards[::-1])


def returns_to_go(rewards: Array, beyond: float, gamma: float) -> Array:
    """What an episode collected from each step on; `beyond` is what lay behind its end, nothing if it terminated."""
    out, running = np.empty(len(rewards), np.float32), float(beyond)
    for step in range(len(rewards) - 1, -1, -1):
        running = float(rewards[step]) + gamma * running
        out[step] = running
    return out
