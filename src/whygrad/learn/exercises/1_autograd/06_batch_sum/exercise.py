"""One backward for a whole batch.

Task: each number in xs has its own loss w · x². Return the gradient of w for the whole batch, with a single call of
backward(): add the losses up first. Also return the gradient of the losses by themselves when they are added up
(loss.sum() by loss), which is what makes this work. For w = 1 and xs = [1, 2, 3]: 14, and [1, 1, 1].
"""

import torch


def gradients(w, xs):
    weight = torch.tensor(w, requires_grad=True)
    losses = weight * torch.tensor(xs) ** 2
    losses.retain_grad()  # keep the gradient of losses, which is no leaf
    ...  # TODO: one backward for all losses
    return weight.grad, losses.grad
