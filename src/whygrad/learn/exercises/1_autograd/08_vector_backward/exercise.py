"""Why backward wants one number, and what gradient= is for.

A vector of outputs has no single gradient by x but one for each output. backward(gradient=v) asks for their sum,
weighted by v: the gradient of (v · y).

Task: y = x³ (number by number). Return the gradient of x for the given weights v, without forming v · y yourself: call
backward on y. For x = [1, 2] and v = [1, 10] it is [3, 120].
"""

import torch


def weighted(xs, v):
    x = torch.tensor(xs, requires_grad=True)
    y = x**3
    ...  # TODO: backward from y, weighted by v
    return x.grad
