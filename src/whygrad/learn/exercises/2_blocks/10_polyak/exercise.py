"""A target network that follows slowly.

Instead of a copy every so often, SAC and DDPG draw the target a little towards the network after every step.

Task: move every weight of target_net by the share tau towards that of q_net: (1 - tau) · old + tau · new. In place,
without a record of it, and leave q_net alone.
"""

import torch


def follow(q_net, target_net, tau):
    for old, new in zip(target_net.parameters(), q_net.parameters(), strict=True):
        ...  # TODO: move old towards new, without gradient
