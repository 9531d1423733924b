"""The gradient of a dot product.

A gradient has the shape of the leaf it belongs to: one derivative for each of its numbers.

Task: return the gradient of x · x (the sum of the squares of the numbers in x) for a list of three numbers. For
[1, 2, 3] it is [2, 4, 6].
"""

import torch


def gradient(numbers):
    x = torch.tensor(numbers, requires_grad=True)
    y = ...  # TODO: x · x, one number
    y.backward()
    return x.grad
