"""Actions and their log-probabilities.

Task: policy(states) gives logits, one per action, for each of 8 states. Turn them into probabilities with a softmax, draw
one action per state with torch.multinomial, and return the actions and the logarithms of their probabilities, both of
shape (8,). The log-probabilities must keep their gradient: a policy is trained through them.
"""

import torch


def act(policy, states):
    logits = policy(states)
    probabilities = ...  # TODO: softmax over the actions
    actions = ...  # TODO: one draw per row
    log_probs = ...  # TODO: the log-probability of each drawn action
    return actions, log_probs
