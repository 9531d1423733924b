"""Twin critics.

A critic that is trained towards its own highest guesses overestimates. Two critics, of which the target takes the smaller,
do so less.

Task: the target is reward + gamma · (1 - done) · (min of both target critics at the next state and action - alpha ·
log-probability of that action). It is a constant. Return the sum of both critics' mean squared errors to it. A critic is
called with states and actions joined: critic(torch.cat([states, actions], 1)), and returns (N, 1).
"""

import torch
from torch.nn.functional import mse_loss


def critic_loss(critics, target_critics, batch, next_actions, next_log_probs, alpha, gamma):
    with torch.no_grad():
        joined = torch.cat([batch["next_states"], next_actions], 1)
        following = ...  # TODO: the smaller of both, and the entropy term, (N,)
        target = ...  # TODO: (N,)
    joined = torch.cat([batch["states"], batch["actions"]], 1)
    return ...  # TODO: the errors of both critics
