"""A tensor subclass that counts the functions that torch hands to it."""
from collections import Counter

import torch

counts = Counter()


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        counts[getattr(func, "__qualname__", func.__name__)] += 1
        return super().__torch_function__(func, types, args, kwargs or {})


class Unit:
    """No tensor at all, but it takes part."""

    def __init__(self, value, unit):
        self.value, self.unit = value, unit

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        counts["unit " + func.__name__] += 1
        return cls(func(*(a.value if isinstance(a, Unit) else a for a in args), **(kwargs or {})), args[0].unit)


torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
scale = torch.ones(1).as_subclass(Logged).requires_grad_()
for update in range(25):
    x = torch.randn(4, 3).as_subclass(Logged)
    torch.as_tensor(x, dtype=torch.float32)
    out = net(x) * scale
    loss = (out - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.add(Unit(torch.ones(2), "m"), 1.0)
    scale.grad = None
for name, count in sorted(counts.items()):
    print(name, count)
print(type(loss).__name__, loss.item(), net.weight.sum().item())
