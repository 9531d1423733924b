"""Runs isolated from its folder and the environment."""
# flags: -I
import sys

import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
print(sys.flags.isolated, [entry for entry in sys.path if "site-packages" not in entry])
import script
