"""Forgetting requires_grad.

Numbers that torch should differentiate by must say so before anything is computed from them. Only floating-point tensors
can.

Task: `features` is data, `weights` is what is trained. Make weights a leaf that asks for gradient, whatever list of
numbers comes in (whole numbers too), leave features alone, and return the gradient of the sum of (features · weights)².
"""

import torch


def gradient(features, weights):
    features = torch.tensor(features, dtype=torch.float32)
    weights = ...  # TODO: a tensor of floats that asks for gradient
    output = (features @ weights) ** 2
    output.sum().backward()
    return weights.grad, features.requires_grad
