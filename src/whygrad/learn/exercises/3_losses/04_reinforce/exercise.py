"""The REINFORCE loss.

Task: policy(states) gives logits. Return a loss whose gradient makes actions with high returns more likely: the mean of
log-probability times return, with the sign that descent needs.
"""

import torch


def reinforce_loss(policy, states, actions, returns):
    log_probs = torch.log_softmax(policy(states), dim=1)
    taken = ...  # TODO: the log-probability of each taken action, (N,)
    return ...  # TODO: the loss
