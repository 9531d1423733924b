"""Epsilon-greedy.

Task: q is a 1-D tensor with a value for each action. With probability epsilon return a random action, every action with
the same chance (the best one too); else the action with the highest value. Return a plain int, as environments want it.
"""

import torch


def choose(q, epsilon):
    if ...:  # TODO: with probability epsilon
        return ...  # TODO: any action
    return ...  # TODO: the best action
