"""The slope of x squared.

A tensor with requires_grad=True is a leaf: torch writes down everything that is computed from it. backward() then walks
back through that record and leaves the derivative in the leaf's .grad.

Task: let autograd find the derivative of x² at the number x. At 2 it is 4.
"""

import torch


def slope(x):
    leaf = torch.tensor(x, requires_grad=True)
    y = ...  # TODO: the square of leaf
    ...  # TODO: let torch walk back from y
    return leaf.grad
