"""Trains in threads, one after the other and at the same time; one raises, one leaves, one is still at work at the end."""
import queue
import sys
import threading

import torch

results = queue.Queue()


def train(seed, updates):
    generator = torch.Generator().manual_seed(seed)
    net = torch.nn.Linear(3, 1)
    with torch.no_grad():
        net.weight.fill_(0.1 * seed), net.bias.zero_()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(updates):
        loss = net(torch.randn(4, 3, generator=generator)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    results.put((seed, net.weight.sum().item()))
    return net.weight.sum().item()


def fail():
    torch.ones(2, 3) @ torch.ones(2, 3)


threads = [threading.Thread(target=train, args=(seed, 30), name=f"trainer {seed}") for seed in (1, 2, 3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*sorted(results.get() for _ in threads))
for target in (fail, sys.exit):
    thread = threading.Thread(target=target, name="one that ends early")
    thread.start()
    thread.join()
late = threading.Thread(target=lambda: print("late", train(4, 40)), name="late")
late.start()
print(threading.active_count(), [thread.name for thread in threading.enumerate()], flush=True)
