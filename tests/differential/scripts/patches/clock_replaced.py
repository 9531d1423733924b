"""Runs on a simulated clock: every look at it is a tick."""
import random
import time

ticks = 0


def clock():
    global ticks
    ticks += 1
    return ticks * 0.01


time.time = time.perf_counter = time.monotonic = clock
time.sleep = lambda seconds: clock()
import torch

torch.manual_seed(0)
random.seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = ticks
for update in range(45):
    net(torch.randn(5, 3) * time.perf_counter()).pow(2).mean().backward()
    time.sleep(1.0)
    optimizer.step()
    optimizer.zero_grad()
print(ticks - start, [round(p.sum().item(), 6) for p in net.parameters()])
