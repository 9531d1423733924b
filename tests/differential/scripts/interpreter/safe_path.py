"""Runs without its own folder on the path, so that modules beside it are not found."""
# flags: -P
import sys

import torch

net = torch.nn.Linear(2, 1)
net(torch.ones(2)).sum().backward()
print(sys.flags.safe_path, sys.path)
try:
    import script
except ImportError as error:
    print(error)
