"""Clearing gradients.

Gradients add up until somebody clears them. An optimizer's zero_grad() does that for the parameters it holds; for a
leaf of your own you do it yourself.

Task: for each x in the list, return the derivative of x² there as a number, using the same leaf all the time.
[1, 2, 3] gives [2, 4, 6]. Without clearing it would be [2, 6, 12].
"""

import torch


def slopes(numbers):
    leaf = torch.tensor(0.0, requires_grad=True)
    found = []
    for number in numbers:
        with torch.no_grad():
            leaf.fill_(number)
        # TODO: make the leaf forget the gradient of the last round
        y = leaf**2
        y.backward()
        found.append(leaf.grad.item())
    return found
