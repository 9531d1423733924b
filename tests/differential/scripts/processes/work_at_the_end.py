"""Prints, imports, trains and fails in handlers that run at the end, and in destructors that run after them."""
import atexit
import sys
import threading
import weakref

import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


class Closing:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("closing", self.name, type(torch).__name__, type(net).__name__, flush=True)


def train():
    for _ in range(12):
        optimizer.zero_grad()
        net(torch.ones(3)).sum().backward()
        optimizer.step()
    print("trained at the end", net.weight.grad.sum().item(), file=sys.stderr)


def look():
    import colorsys

    print("imported", colorsys.rgb_to_hls(0, 0, 0), sys.modules["__main__"].__dict__ is globals(), __name__)


class Failing:
    def __call__(self):
        raise KeyError("at the end")

    def __repr__(self):
        return "failing"


atexit.register(train)
atexit.register(look)
atexit.register(Failing())
atexit.register(lambda: print("threads", threading.active_count()))
weakref.finalize(net, print, "finalized")
first, second = Closing("first"), Closing("second")
kept = [Closing("in a list")]
_private = Closing("private")
train()
