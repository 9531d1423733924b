"""Offloads saved tensors: packs and unpacks are counted, and nothing else looks at the graph."""
from collections import Counter

import torch
from torch.autograd.graph import saved_tensors_hooks

counts = Counter()


class Offload(saved_tensors_hooks):
    def __init__(self):
        super().__init__(self.pack, self.unpack)

    def pack(self, tensor):
        counts["pack"] += 1
        return tensor.detach().clone()

    def unpack(self, kept):
        counts["unpack"] += 1
        return kept


torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
critic = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD([*net.parameters(), *critic.parameters()], lr=0.05)
for update in range(45):
    x = torch.randn(4, 3)
    with Offload():
        loss = net(x).pow(2).mean() + 0.5 * (critic(x) - 1.0).pow(2).mean() - 0.01 * net(x).exp().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update in (0, 1, 2, 5, 20, 44):
        print(update, dict(counts))
