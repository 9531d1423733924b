"""A policy, two critics and a temperature: the parts of SAC."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whygrad.agents.fast import inference, sampling
from whygrad.agents.fast.rollout import Choose
from whygrad.agents.fast.twin import TwinCritic
from whygrad.agents.networks import network
from whygrad.agents.spaces import Spaces

NARROWEST, WIDEST = -5.0, 2.0
"""Limits of the logarithm of the policy's width."""


class SoftActorCritic(nn.Module):
    """A policy, two critics and a temperature."""

    def __init__(self, spaces: Spaces, hidden: Sequence[int], temperature: float) -> None:
        super().__init__()
        self.discrete = spaces.discrete
        outputs = spaces.actions or 2 * len(spaces.low)
        self.actor = network(spaces, outputs, hidden, "relu", last_gain=0.01)
        self.critic = TwinCritic(spaces, hidden)
        self.log_alpha = nn.Parameter(torch.tensor(math.log(temperature)))

    def act(self, observations: Tensor) -> Tensor:
        out: Tensor = self.actor(observations)
        return out.argmax(-1) if self.discrete else out.chunk(2, -1)[0].tanh()

    def sample(self, observations: Tensor) -> Tensor:
        out: Tensor = self.actor(observations)
        if self.discrete:
            return sampling.drawn(out)
        return squashed(out, torch.randn_like(out.chunk(2, -1)[0]))[0]

    def value(self, observations: Tensor) -> Tensor:
        """The smaller of the two values of the action it would take."""
        action = self.act(observations)
        both: Tensor = self.critic(observations) if self.discrete else self.critic(observations, action)
        smaller = both.amin(0)
        return smaller.gather(-1, action.unsqueeze(-1)).squeeze(-1) if self.discrete else smaller.squeeze(-1)

    def sampler(self, rng: np.random.Generator) -> Choose:
        """Draws one action during training, in numpy."""
        actor = inference.forward(self.actor)
        if self.discrete:
            return lambda observation: sampling.categorical(actor(observation), rng)
        return lambda observation: sampling.squashed(actor(observation), NARROWEST, WIDEST, rng)


def squashed(out: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """An action in (-1, 1) made of noise, so that gradient passes through it, and its log-probability."""
    mean, log_std = out.chunk(2, -1)
    log_std = log_std.clamp(NARROWEST, WIDEST)
    raw = mean + log_std.exp() * noise
    log_slope = 2 * (math.log(2) - raw - F.softplus(-2 * raw))
    log_prob = -(0.5 * noise.square() + log_std + 0.5 * math.log(2 * math.pi) + log_slope).sum(-1)
    return raw.tanh(), log_prob
