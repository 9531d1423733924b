"""Generalised advantage estimation.

The error of one step is delta = reward + gamma · V(next) - V(now). The advantage adds up this error and the following
ones, each weighted with another factor gamma · lam: A = delta + gamma · lam · (A of the next step). Where done is 1,
nothing follows: neither a value nor an advantage.

Task: values holds V of each of the N states and, at the end, V of the state after the last. Return the N advantages.
"""

import torch


def gae(rewards, values, done, gamma, lam):
    advantages = torch.zeros(len(rewards))
    following = 0.0
    for t in reversed(range(len(rewards))):
        delta = ...  # TODO
        following = ...  # TODO: the advantage of step t
        advantages[t] = following
    return advantages
