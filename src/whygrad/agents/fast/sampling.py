"""Actions drawn in numpy, where the rollout lives, and in torch for those who ask a policy."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from whygrad.agents.spaces import Array


def categorical(logits: Array, rng: np.random.Generator) -> Array:
    """An index per row with the probabilities of the softmax: the largest logit after Gumbel noise."""
    drawn: Array = (logits + rng.gumbel(size=logits.shape)).argmax(-1)
    return drawn


def drawn(logits: Tensor) -> Tensor:
    """The same in torch; `multinomial` would look at the probabilities, and a GPU wait for it."""
    return (logits - torch.empty_like(logits).exponential_().log()).argmax(-1)


def gaussian(mean: Array, std: Array, rng: np.random.Generator) -> Array:
    drawn: Array = mean + std * rng.standard_normal(mean.shape, np.float32)
    return drawn


def squashed(out: Array, narrowest: float, widest: float, rng: np.random.Generator) -> Array:
    """A Gaussian through tanh, from means and logarithms of widths side by side."""
    mean, log_std = np.split(out, 2, -1)
    return np.tanh(gaussian(mean, np.exp(np.clip(log_std, narrowest, widest)), rng))
