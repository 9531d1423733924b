"""Looks when tensors, modules, optimizers, closures and exceptions die, at once and at the end."""
import gc
import weakref

import torch

gc.disable()
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)


class Batch:
    def __init__(self):
        self.x = torch.randn(4, 3)

    def __del__(self):
        deaths.append("batch")


class Failure(Exception):
    pass


deaths = []


def update(number):
    batch, refs = Batch(), {}
    hidden = net[0](batch.x)
    loss = net[2](hidden.tanh()).pow(2).mean()
    refs["batch"], refs["hidden"], refs["loss"], refs["node"] = map(weakref.ref, (batch, hidden, loss, loss))
    array = hidden.detach().numpy()
    refs["array"] = weakref.ref(array)
    with torch.no_grad():
        aside = net(batch.x)
    refs["aside"] = weakref.ref(aside)
    optimizer.zero_grad()
    loss.backward()
    refs["gradient"] = weakref.ref(net[0].weight.grad)
    optimizer.step()
    spare = torch.nn.Linear(2, 2)
    keeper = torch.optim.Adam(spare.parameters())
    refs["spare"], refs["weight"], refs["keeper"] = map(weakref.ref, (spare, spare.weight, keeper))
    try:
        raise Failure(batch)
    except Failure as error:
        refs["error"] = weakref.ref(error)
    optimizer.zero_grad()
    del hidden
    print(number, "deleted", refs["hidden"]() is None, end=" ")
    return refs


for number in range(25):
    refs = update(number)
    print(*(f"{name}:{ref() is None}" for name, ref in refs.items()), len(deaths))
gone = weakref.ref(net), weakref.ref(optimizer), weakref.ref(net[0].weight)
del net, optimizer
print([ref() is None for ref in gone], gc.collect() > 0, [ref() is None for ref in gone], len(deaths))
