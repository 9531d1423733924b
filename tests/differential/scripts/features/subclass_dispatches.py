"""A wrapper tensor with `__torch_dispatch__`, and modes of its own for functions and dispatch, all counting."""
from collections import Counter

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

counts = Counter()


class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        counts["wrapped " + str(func)] += 1
        plain = tree_map_only(Wrapped, lambda w: w.inner, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, Wrapped, func(*plain[0], **plain[1]))


class Functions(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        counts["function " + getattr(func, "__name__", "?")] += 1
        return func(*args, **(kwargs or {}))


class Operations(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        counts["operation " + str(func)] += 1
        return func(*args, **(kwargs or {}))


torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def update():
    loss = net(torch.randn(4, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    return loss


for number in range(12):
    if number % 3 == 0:
        with Functions():
            update()
    elif number % 3 == 1:
        with Operations():
            update()
    else:
        weight = Wrapped(torch.ones(3)).requires_grad_()
        (weight * 2.0).sum().backward()
        update()
with Functions(), Operations():
    for number in range(12):
        update()
for name, count in sorted(counts.items()):
    print(name, count)
print([p.sum().item() for p in net.parameters()])
