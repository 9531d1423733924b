"""Forgets to close a file, with the allocations traced, so that the warning tells where it was opened."""
# flags: -X dev -X tracemalloc=1
import gc
import sys

import torch

net = torch.nn.Linear(3, 1)
for update in range(2):
    net.zero_grad()
    net(torch.ones(3)).sum().backward()


def forget():
    kept = open("data.txt", "w")
    kept.write("x")


forget()
gc.collect()
print(sys.flags.dev_mode, sys.warnoptions)
