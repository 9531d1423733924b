"""Clipping gradients, and what it does to the norm.

Task: take a training step whose gradients are scaled down, all together, to a norm of at most `most`. Clipping belongs
between backward() and step(). Return the norm before and the norm after clipping, as numbers.
"""

import torch


def norm(net):
    return torch.sqrt(sum((p.grad**2).sum() for p in net.parameters())).item()


def step(net, optimizer, loss, most):
    optimizer.zero_grad()
    loss.backward()
    ...  # TODO: the norm before, the clipping, the norm after
    optimizer.step()
    return ...  # TODO
