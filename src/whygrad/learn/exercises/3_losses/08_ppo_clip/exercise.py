"""The clipped surrogate of PPO.

Task: ratio is the probability of the taken action now, over that when it was taken: exp(new - old) of the log-probabilities.
Return the loss: minus the mean of the smaller of ratio · advantage and (ratio clipped to 1 ± clip) · advantage.
"""

import torch


def ppo_loss(new_log_probs, old_log_probs, advantages, clip):
    ratio = ...  # TODO
    return ...  # TODO
