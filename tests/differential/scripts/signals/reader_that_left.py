"""Prints to a reader that has had enough, as in `train.py | head`, with and without Python's own handling of that."""
# args: python
# args: default
# args: caught
import os
import signal
import sys

import torch

reading, writing = os.pipe()
os.close(reading)
os.dup2(writing, 1)
if sys.argv[1] == "default":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for update in range(20):
    optimizer.zero_grad()
    net(torch.ones(3)).sum().backward()
    optimizer.step()
    try:
        print("update", update, flush=True)
    except BrokenPipeError:
        if sys.argv[1] != "caught":
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)
