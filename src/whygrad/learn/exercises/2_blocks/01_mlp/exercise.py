"""A small network and its first gradient.

Task: build() makes a network from 4 numbers to 2, with one hidden layer of 64 and a ReLU behind it. first_gradient()
sends a batch of states through the network, takes the mean squared error to target, goes back, and returns the gradient
of the first layer's weight.
"""

import torch
from torch import nn


def build():
    return ...  # TODO: a network 4-64-2 with a ReLU


def first_gradient(net, states, target):
    loss = ...  # TODO: the mean squared error of the network's output
    loss.backward()
    return net[0].weight.grad


if __name__ == "__main__":
    print(first_gradient(build(), torch.randn(10, 4), torch.randn(10, 2)).shape)
