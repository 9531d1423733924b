"""Recomputes activations, in both ways that torch has, and counts the passes."""
from collections import Counter

import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

counts = Counter()


class Block(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name, self.body, self.drop = name, torch.nn.Linear(3, 3), torch.nn.Dropout(0.2)

    def forward(self, x):
        counts[self.name] += 1
        return self.drop(self.body(x)).tanh()


torch.manual_seed(0)
one, two, three = Block("re-entrant"), Block("other"), torch.nn.Sequential(Block("first"), Block("second"))
params = [*one.parameters(), *two.parameters(), *three.parameters()]
optimizer = torch.optim.SGD(params, lr=0.05)
for update in range(25):
    x = torch.randn(4, 3, requires_grad=True)
    out = checkpoint(one, x, use_reentrant=True) + checkpoint(two, x, use_reentrant=False)
    loss = out.pow(2).mean() + checkpoint_sequential(three, 2, x, use_reentrant=False).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(dict(counts))
print([p.sum().item() for p in params], torch.get_rng_state().sum().item())
