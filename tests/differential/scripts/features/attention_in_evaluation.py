"""Acts by attention that is in evaluation, where torch takes faster paths unless a mode of functions is in force."""
# args: padded
# args: adapted
# args: listened
# args: scripted
# args: long
import sys

import torch
from torch import nn

torch.manual_seed(0)
how = sys.argv[1]


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(12, 2, 24, dropout=0.0, batch_first=True)
        self.mixing = nn.TransformerEncoder(layer, 2)
        self.recall = nn.MultiheadAttention(12, 4, batch_first=True)
        self.head = nn.Linear(12, 3)

    def forward(self, seen, padding):
        mixed = self.mixing(seen, src_key_padding_mask=padding)
        recalled, _ = self.recall(mixed, mixed, mixed, need_weights=False)
        return torch.distributions.Categorical(logits=self.head(mixed + recalled).mean(1))


class Adapted(nn.Linear):
    def forward(self, x):
        return super().forward(x) * self.rank


class Counting(torch.overrides.TorchFunctionMode):
    calls = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        Counting.calls += 1
        return func(*args, **(kwargs or {}))


memory = Memory()
padding = torch.tensor([[False] * 6, [False, False, False, True, True, True], [False, False, True, True, True, True]])
if how == "adapted":  # All is frozen but what was added to it, and that torch does not look for.
    memory.requires_grad_(False)
    memory.head.requires_grad_(True)
    for layer in memory.mixing.layers:
        layer.linear1.__class__ = Adapted
        layer.linear1.rank = nn.Parameter(torch.ones(24))
if how == "scripted":
    memory.recall.eval()
trained = [p for p in memory.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(trained, lr=1e-2)
for update in range(24):
    memory.eval()
    if how == "adapted":
        policy = memory(torch.randn(3, 6, 12), padding)
        actions = policy.sample()
        log_prob = policy.log_prob(actions)
    else:
        with torch.no_grad():
            for _ in range(150 if how == "long" and update < 3 else 1):
                actions = memory(torch.randn(3, 6, 12), padding).sample()
        if how == "listened" and update % 5 == 4:
            with Counting(), torch.no_grad():
                actions = memory(torch.randn(3, 6, 12), padding).sample()
        if how == "scripted" and update in (2, 9):
            with torch.no_grad():
                print(torch.jit.script(memory.recall)(*[torch.randn(2, 5, 12)] * 3)[0].double().sum().item().hex())
        memory.train()
        log_prob = memory(torch.randn(3, 6, 12), padding).log_prob(actions)
    optimizer.zero_grad()
    loss = -(log_prob * torch.randn(3)).mean()
    loss.backward()
    optimizer.step()
    print(update, actions.tolist(), loss.item().hex())
print(Counting.calls, [p.double().sum().item().hex() for p in trained])
