import torch
from torch.distributions import Normal


def act(actor, states):
    mean, log_std = actor(states).chunk(2, dim=1)
    normal = Normal(mean, log_std.exp())
    draw = normal.rsample()
    action = torch.tanh(draw)
    log_prob = (normal.log_prob(draw) - torch.log(1 - action**2 + 1e-6)).sum(1)
    return action, log_prob
