"""Counts the calls that wait for a device, to find what slows its training down."""
import traceback
from collections import Counter

import torch

counts = Counter()
NAMES = ("item", "tolist", "numpy", "cpu", "__float__", "__bool__", "__int__", "detach", "clone", "any", "abs", "double")


def count(name):
    original = getattr(torch.Tensor, name)

    def counting(self, *args, **kwargs):
        counts[name] += 1
        return original(self, *args, **kwargs)

    setattr(torch.Tensor, name, counting)


for name in NAMES:
    count(name)
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for update in range(45):
    advantage = torch.randn(5, 1).detach()
    loss = (net(torch.randn(5, 3)) - advantage).pow(2).mean() + 0.1 * net.weight.abs().mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    if loss.item() < 0.0:
        traceback.print_stack()
print(dict(counts))
