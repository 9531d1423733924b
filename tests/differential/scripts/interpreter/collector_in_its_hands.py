"""Switches the collector off, freezes what there is, and follows the deaths of its own cycles."""
import gc
import tracemalloc

tracemalloc.start(2)
import torch

gc.disable()
gc.freeze()
gc.set_threshold(123, 4, 5)
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
dead = 0


class Cycle:
    def __init__(self):
        self.me = self

    def __del__(self):
        global dead
        dead += 1


for update in range(25):
    Cycle()
    loss = net(torch.randn(4, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(dead, gc.isenabled(), gc.get_threshold(), gc.garbage, tracemalloc.is_tracing(), tracemalloc.get_traceback_limit())
gc.collect()
print(dead, sum(isinstance(thing, Cycle) for thing in gc.get_objects()))
gc.set_debug(gc.DEBUG_SAVEALL)
Cycle()
gc.collect()
print(sum(type(thing).__module__ == "__main__" for thing in gc.garbage))
gc.set_debug(0)
gc.garbage.clear()
