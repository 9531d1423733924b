"""A policy and a value function with nothing in common but their observations: for REINFORCE, A2C and PPO."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whygrad.agents.fast import inference, sampling
from whygrad.agents.fast.rollout import Choose
from whygrad.agents.networks import network
from whygrad.agents.spaces import Spaces

HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
SPREAD = math.sqrt(2 * math.pi * math.e)
"""The entropy of a Gaussian is the logarithm of so many standard deviations."""


class ActorCritic(nn.Module):
    """Discrete actions from a softmax; continuous ones from a Gaussian whose width does not depend on the state."""

    def __init__(self, spaces: Spaces, hidden: Sequence[int], activation: str, log_std: float = 0.0) -> None:
        super().__init__()
        self.discrete = spaces.discrete
        outputs = spaces.actions or len(spaces.low)
        self.actor = network(spaces, outputs, hidden, activation, last_gain=0.01)
        self.critic = network(spaces, 1, hidden, activation)
        self.log_std = None if self.discrete else nn.Parameter(torch.full((outputs,), log_std))

    def evaluate(self, observations: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probability of the actions, and entropy of the policy, per observation."""
        out = self.actor(observations)
        if self.log_std is None:
            log_probs = out.log_softmax(-1)
            entropy = -(log_probs.exp() * log_probs).sum(-1)
            return -F.nll_loss(log_probs, actions, reduction="none"), entropy
        std = self.log_std.exp()
        log_prob = -(0.5 * ((actions - out) / std).square() + std.log() + HALF_LOG_TAU).sum(-1)
        entropy = (SPREAD * std).log().sum(-1)
        return log_prob, entropy.expand(len(out))

    def value(self, observations: Tensor) -> Tensor:
        out: Tensor = self.critic(observations)
        return out.squeeze(-1)

    def act(self, observations: Tensor) -> Tensor:
        """The likeliest action."""
        out: Tensor = self.actor(observations)
        return out.argmax(-1) if self.discrete else out

    def sample(self, observations: Tensor) -> Tensor:
        out: Tensor = self.actor(observations)
        if self.log_std is None:
            return sampling.drawn(out)
        return torch.normal(out, self.log_std.exp().expand_as(out))

    def sampler(self, rng: np.random.Generator) -> Choose:
        """Draws actions during a rollout, in numpy."""
        actor = inference.forward(self.actor)
        if self.log_std is None:
            return lambda observations: sampling.categorical(actor(observations), rng)
        log_std = self.log_std
        return lambda observations: sampling.gaussian(actor(observations), log_std.detach().exp().cpu().numpy(), rng)
