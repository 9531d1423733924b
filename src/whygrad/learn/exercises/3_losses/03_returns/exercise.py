"""Returns, counted from each step on.

Task: for the rewards of one episode return, at each step, what is still to come: the reward of this step, plus gamma times
the next one, plus gamma² times the one after that, and so on. rewards [1, 1, 1] with gamma 0.5 give [1.75, 1.5, 1].
"""

import torch


def returns(rewards, gamma):
    out, following = [], 0.0
    for reward in ...:  # TODO: in which order?
        ...  # TODO: what is still to come at this step
    return torch.tensor(out)
