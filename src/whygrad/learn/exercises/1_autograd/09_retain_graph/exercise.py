"""A graph is used up by backward.

After backward() the values that the graph kept for it are freed; a second backward() through the same part raises.
retain_graph=True keeps them, for the rare case that the same graph is really needed twice.

Task: `shared` is computed once and used in two losses. Return the gradient of w after going back from both, first from
one and then from two. Do not compute shared again, and keep the graph only as long as it is needed: the second
backward should free it.
"""

import torch


def both(w, x):
    weight = torch.tensor(w, requires_grad=True)
    shared = (weight * x) ** 2
    one = shared * 2
    two = shared * 5
    ...  # TODO: backward from one, then from two
    return weight.grad, shared
