"""The actor's loss of SAC.

Task: the actor should choose actions that the critics value, and stay open: minimise the mean of alpha · log-probability
minus the smaller of both critics' values. The gradient comes to the actor through the action: do not detach it. The
critics are not to be trained by this loss; here they are frozen by the caller.
"""

import torch


def actor_loss(critics, states, actions, log_probs, alpha):
    joined = torch.cat([states, actions], 1)
    value = ...  # TODO: the smaller of both critics, (N,)
    return ...  # TODO
