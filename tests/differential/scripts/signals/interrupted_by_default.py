"""Ctrl-C that nobody catches, in the middle of training."""
# args: training
# args: traced-operation
# args: sleeping
import os
import signal
import sys
import time

import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)


for update in range(30):
    optimizer.zero_grad()
    loss = net(torch.ones(3)).sum()
    if sys.argv[1] == "traced-operation":
        loss.register_hook(interrupt)
    loss.backward()
    optimizer.step()
    print("update", update, flush=True)
    if update == 12 and sys.argv[1] == "training":
        interrupt()
if sys.argv[1] == "sleeping":
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    time.sleep(20)
