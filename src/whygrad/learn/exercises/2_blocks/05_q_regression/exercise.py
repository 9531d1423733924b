"""A hundred steps, and a loss that goes down.

Task: train the network for 100 steps with Adam (learning rate 0.01) on the mean squared error between net(states) and
targets. Every 20 steps, beginning with step 0, print the loss and remember it as a plain number. Return the five
numbers. The last should be well below the first.
"""

import torch


def train(net, states, targets):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for step in range(100):
        loss = torch.nn.functional.mse_loss(net(states), targets)
        ...  # TODO: update the network
        ...  # TODO: print and remember the loss every 20 steps
    return losses
