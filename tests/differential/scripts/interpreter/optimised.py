"""Runs with assertions and docstrings removed."""
# flags: -OO
import sys

import torch


def documented():
    """Gone."""


assert False, "nobody looks at this"
torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    net(torch.ones(2)).sum().backward()
    optimizer.step()
print(__debug__, documented.__doc__, __doc__, sys.flags.optimize, net.weight.sum().item())
