"""The TD target is a constant.

Task: compute reward + gamma · (highest value of the next state), for a batch. Where done is 1 the episode is over and
nothing follows. The values come from target_net; the result, of shape (N,), must not carry gradient: it is what the
prediction is compared with, not something to be trained.
"""

import torch


def td_target(target_net, rewards, next_states, done, gamma):
    following = target_net(next_states)  # (N, actions)
    return ...  # TODO: (N,), without gradient
