"""The loss of deep Q-learning.

Task: compare the values of the actions that were taken with `target`, and return the mean squared error. q_net(states)
has shape (N, actions); actions and target have shape (N,). The loss trains q_net, and only through the taken actions.
"""

import torch


def dqn_loss(q_net, states, actions, target):
    values = q_net(states)
    taken = ...  # TODO: the value of each taken action, (N,)
    return ...  # TODO: the mean squared error to target
