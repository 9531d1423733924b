"""Runs in Python's development mode, which finds what is left open and what is not awaited."""
# flags: -X dev -b
import asyncio
import sys

import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    net(torch.ones(2)).sum().backward()
    optimizer.step()


async def nothing():
    return None


asyncio.run(nothing())
print(sys.flags.dev_mode, sys.flags.bytes_warning, "x" == b"x")
