"""Parameters of an own kind, whose gradient is a property: every look and every change is counted."""

from collections import Counter

import torch

looks = Counter()


class Ledger(torch.nn.Parameter):
    @property
    def grad(self):
        looks["read"] += 1
        return super().grad

    @grad.setter
    def grad(self, value):
        looks["written"] += 1
        torch.Tensor.grad.__set__(self, value)

    @grad.deleter
    def grad(self):
        looks["deleted"] += 1
        torch.Tensor.grad.__delete__(self)


torch.manual_seed(5)
gain = Ledger(torch.randn(3))
shift = Ledger(torch.zeros(3))
optimizer = torch.optim.Adam([gain, shift], lr=0.02)
for turn in range(16):
    out = torch.randn(4, 3) * gain + shift
    optimizer.zero_grad(set_to_none=bool(turn % 2))
    (out.square().mean() + 0.1 * gain.abs().sum()).backward()
    torch.nn.utils.clip_grad_norm_([gain, shift], 0.5)
    optimizer.step()
    if turn in (1, 8, 15):
        print(turn, sorted(looks.items()))
print(gain, shift, type(gain.grad).__name__)
