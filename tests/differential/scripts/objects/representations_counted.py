"""Keys, names and values that count how often they are shown, compared, hashed, measured or walked."""
from collections import Counter, UserDict, deque

import torch

counts = Counter()


class Key:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        counts["repr"] += 1
        return f"<{self.name}>"

    def __str__(self):
        counts["str"] += 1
        return self.name

    def __eq__(self, other):
        counts["eq"] += 1
        return self is other

    def __hash__(self):
        counts["hash"] += 1
        return hash(self.name)

    def __len__(self):
        counts["len"] += 1
        return 3

    def __bool__(self):
        counts["bool"] += 1
        return True

    def __iter__(self):
        counts["iter"] += 1
        return iter(())

    def __getitem__(self, index):
        counts["item"] += 1
        raise IndexError

    def __float__(self):
        counts["float"] += 1
        return 1.0


class Store(dict):
    def items(self):
        counts["items"] += 1
        return super().items()

    def __getitem__(self, key):
        counts["store item"] += 1
        return super().__getitem__(key)

    def __iter__(self):
        counts["store iter"] += 1
        return super().__iter__()

    def get(self, *args):
        counts["store get"] += 1
        return super().get(*args)


class Row(list):
    def __iter__(self):
        counts["row iter"] += 1
        return super().__iter__()

    def __getitem__(self, index):
        counts["row item"] += 1
        return super().__getitem__(index)

    def __len__(self):
        counts["row len"] += 1
        return super().__len__()


class Number(float):
    def __float__(self):
        counts["number"] += 1
        return super().__float__()


torch.manual_seed(0)
nets = Store({Key("actor"): torch.nn.Linear(3, 2), Key("critic"): torch.nn.Linear(3, 1)})
rows, queue, user = Row(dict.values(nets)), deque(dict.values(nets)), UserDict(a=Key("other"))
key, scale = next(dict.__iter__(nets)), Number(0.5)
optimizer = torch.optim.SGD([p for net in dict.values(nets) for p in net.parameters()], lr=0.1)
for name, count in sorted(counts.items()):
    print("before", name, count)
counts.clear()
advantage = key
for update in range(25):
    loss = sum(net(torch.randn(4, 3)).pow(2).mean() for net in list.__iter__(rows)) * scale
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(sorted(counts.items()))
