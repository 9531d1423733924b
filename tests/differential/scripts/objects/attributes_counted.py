"""Objects whose attributes, class and contents come at a price: each look is counted."""
import types
from collections import Counter

import torch

counts = Counter()


class Agent:
    def __init__(self):
        self.net = torch.nn.Linear(3, 1)

    def __getattribute__(self, name):
        if not name.startswith("_") or name in ("__dict__", "__class__"):
            counts["read " + name] += 1
        return super().__getattribute__(name)


class Proxy:
    """Answers for every attribute, like a client of a remote service."""

    def __getattr__(self, name):
        counts["asked"] += 1
        raise AttributeError(name)


class Disguised:
    @property
    def __class__(self):
        counts["class"] += 1
        return dict

    @property
    def __dict__(self):
        counts["dict"] += 1
        return {}


class Watching(type):
    def __getattribute__(cls, name):
        if name in ("__module__", "__mro__", "__name__"):
            counts["meta " + name] += 1
        return super().__getattribute__(name)

    def __instancecheck__(cls, instance):
        counts["instance check"] += 1
        return super().__instancecheck__(instance)


class Watched(metaclass=Watching):
    def __init__(self):
        self.inner = {"net": torch.nn.Linear(3, 1)}


class Lazy:
    @property
    def data(self):
        counts["loaded"] += 1
        return torch.ones(3)

    @property
    def __array_interface__(self):
        counts["interface"] += 1
        raise AttributeError


class Namespace(types.SimpleNamespace):
    @property
    def flat(self):
        counts["flat"] += 1
        return None


torch.manual_seed(0)
agent, proxy, disguised, watched, lazy, space = Agent(), Proxy(), Disguised(), Watched(), Lazy(), Namespace(x=1)
things = {"agent": agent, "proxy": proxy, "lazy": lazy, "list": [proxy, lazy, disguised, space]}
optimizer = torch.optim.SGD([*agent.net.parameters(), *watched.inner["net"].parameters()], lr=0.1)


def train(agent, proxy, ratio):
    entropy, advantages, returns = lazy, proxy, disguised
    for update in range(25):
        loss = agent.net(torch.randn(4, 3)).pow(2).mean() + watched.inner["net"](torch.randn(4, 3)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


counts.clear()
train(agent, proxy, space)
print(sorted(counts.items()))
