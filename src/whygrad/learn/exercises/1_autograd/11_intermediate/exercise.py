"""The gradient of something in the middle.

Only leaves keep their gradient. A value in the middle of the graph has one on the way back, and drops it, unless it was
asked to keep it before backward().

Task: h = w · x is in the middle, y = h³ at the end. Return the gradients of w and of h after one backward(). For w = 1,
x = 2: 24 and 12.
"""

import torch


def gradients(w, x):
    weight = torch.tensor(w, requires_grad=True)
    h = weight * x
    ...  # TODO: h is no leaf; ask it to keep its gradient
    y = h**3
    y.backward()
    return weight.grad, h.grad
