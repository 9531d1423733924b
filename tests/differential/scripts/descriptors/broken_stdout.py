"""Writes to an output that is full, and to one that nobody reads any more."""
# args: full
# args: broken
import os
import sys

import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
if sys.argv[1] == "full":
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
else:
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, 1)
print("this stays in the buffer")
