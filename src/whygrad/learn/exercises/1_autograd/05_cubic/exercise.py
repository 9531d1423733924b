"""A derivative without touching .grad.

torch.autograd.grad(output, inputs) returns gradients instead of adding them to the leaves. It returns a tuple: one
gradient for each input.

Task: return the derivative of y = x³ + 2x at the number x, with torch.autograd.grad, as a tensor with one number. At 3
it is 29. leaf.grad must stay None.
"""

import torch


def slope(x):
    leaf = torch.tensor(x, requires_grad=True)
    y = ...  # TODO: x³ + 2x
    found = ...  # TODO: the derivative of y by leaf
    return found, leaf.grad
