"""Synchronous data parallel A2C in one process without torch.distributed."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(20)
torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 48)
        self.pi, self.v = nn.Linear(48, 3), nn.Linear(48, 1)

    def forward(self, x):
        h = F.relu(self.l(x))
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


master = Net()
replicas = [copy.deepcopy(master) for _ in range(4)]
opt = torch.optim.Adam(master.parameters(), lr=4e-3)


def broadcast():
    with torch.no_grad():
        for rep in replicas:
            for dst, src in zip(rep.parameters(), master.parameters()):
                dst.copy_(src)


def all_reduce():
    for i, p in enumerate(master.parameters()):
        parts = [list(rep.parameters())[i].grad for rep in replicas]
        p.grad = torch.stack(parts).mean(dim=0)


curve = []
for it in range(150):
    broadcast()
    total = 0.0
    for rep in replicas:
        x = torch.randn(24, 4)
        dist, v = rep(x)
        a = dist.sample()
        r = torch.where(a == x[:, 1:].argmax(1), 1.0, 0.0)
        loss = -(dist.log_prob(a) * (r - v.detach())).mean() + 0.5 * F.mse_loss(v, r) - 0.01 * dist.entropy().mean()
        rep.zero_grad(set_to_none=True)
        loss.backward()
        total += r.mean().item() / len(replicas)
    all_reduce()
    nn.utils.clip_grad_norm_(master.parameters(), 0.5)
    opt.step()
    curve.append(total)
print("reward %.3f -> %.3f" % (sum(curve[:10]) / 10, sum(curve[-10:]) / 10))
