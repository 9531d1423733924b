"""A reparameterised action.

Soft actor-critic differentiates through the action. So the draw is written as mean + deviation · noise (rsample), which
has a gradient, and squashed into -1..1 by tanh. The squash changes the density: the log-probability of the action is that
of the draw minus log(1 - action²).

Task: actor(states) gives mean and log-deviation beside each other. Return the action and its log-probability, one number
per state: sum over the dimensions of the action. Use 1 - action² + 1e-6 in the logarithm.
"""

import torch
from torch.distributions import Normal


def act(actor, states):
    mean, log_std = actor(states).chunk(2, dim=1)
    draw = ...  # TODO: from Normal(mean, log_std.exp()), with gradient
    action = torch.tanh(draw)
    log_prob = ...  # TODO: (N,)
    return action, log_prob
