import copy

import torch
import torch.nn as nn
from torch.distributions import Independent, Normal

torch.set_num_threads(1)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))


class Policy(nn.Module):
    def __init__(self, o, a):
        super().__init__()
        self.mu = mlp(o, a)
        self.log_std = nn.Parameter(torch.zeros(a))

    def forward(self, s):
        return Independent(Normal(self.mu(s), self.log_std.exp()), 1)


class ImplicitQ:
    def __init__(self, o=4, a=2, tau=0.8, beta=2.0, gamma=0.9):
        self.q, self.v, self.pi = mlp(o + a, 1), mlp(o, 1), Policy(o, a)
        self.qt = copy.deepcopy(self.q)
        self.tau, self.beta, self.gamma = tau, beta, gamma
        self.opts = {k: torch.optim.Adam(m.parameters(), lr=2e-3) for k, m in (("q", self.q), ("v", self.v), ("pi", self.pi))}

    def _apply(self, key, loss):
        self.opts[key].zero_grad()
        loss.backward()
        self.opts[key].step()
        return loss.item()

    def update(self, s, a, r, s2):
        sa = torch.cat([s, a], -1)
        q = self.qt(sa).squeeze(-1).detach()
        v = self.v(s).squeeze(-1)
        diff = q - v
        weight = (self.tau - (diff < 0).float()).abs()
        out = {"v": self._apply("v", (weight * diff.square()).mean())}
        with torch.no_grad():
            y = r + self.gamma * self.v(s2).squeeze(-1)
        out["q"] = self._apply("q", (self.q(sa).squeeze(-1) - y).square().mean())
        w = (self.beta * (q - self.v(s).squeeze(-1)).detach()).exp().clamp_(max=50)
        out["pi"] = self._apply("pi", -(w * self.pi(s).log_prob(a)).mean())
        for p, pt in zip(self.q.parameters(), self.qt.parameters()):
            pt.data.lerp_(p.data, 0.02)
        return out


if __name__ == "__main__":
    g = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    s = torch.randn(500, 4, generator=g)
    a = torch.randn(500, 2, generator=g)
    s2 = 0.7 * s + 0.2 * torch.cat([a, a], -1)
    r = -s2.square().mean(-1)
    agent = ImplicitQ()
    for i in range(40):
        idx = torch.randint(0, 500, (64,), generator=g)
        log = agent.update(s[idx], a[idx], r[idx], s2[idx])
        if i % 10 == 0:
            print(i, {k: round(x, 3) for k, x in log.items()})
