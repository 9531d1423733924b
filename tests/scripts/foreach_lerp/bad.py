import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)


def dataset(n=800, seed=3):
    g = torch.Generator().manual_seed(seed)
    s = torch.rand(n, 3, generator=g) * 2 - 1
    a = torch.tanh(torch.randn(n, 2, generator=g))
    shift = torch.stack([s[:, 2], -s[:, 2]], 1)
    pos = (s[:, :2] + 0.3 * a + 0.1 * shift).clamp(-1, 1)
    s2 = torch.cat([pos, 0.9 * s[:, 2:]], 1)
    r = 1.0 - pos.norm(dim=1)
    return s, a, r, s2


def mlp(*sizes):
    layers = []
    for i, o in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(i, o), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


class DoubleQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([mlp(5, 48, 48, 1), mlp(5, 48, 48, 1)])

    def both(self, s, a):
        z = torch.cat([s, a], 1)
        return [h(z).squeeze(1) for h in self.heads]

    def forward(self, s, a):
        return torch.minimum(*self.both(s, a))


def expectile_loss(diff, tau):
    return (torch.abs(tau - (diff < 0).float()) * diff.pow(2)).mean()


@torch.no_grad()
def soft_update(target, source, rate):
    torch._foreach_lerp(list(target.parameters()), list(source.parameters()), rate)  # <- culprit


class IQL:
    def __init__(self, gamma=0.9, expectile=0.8, beta=3.0, rate=0.05):
        self.q, self.v, self.pi = DoubleQ(), mlp(3, 48, 48, 1), mlp(3, 48, 2)
        self.q_target = copy.deepcopy(self.q).requires_grad_(False)
        self.opts = {k: torch.optim.Adam(m.parameters(), lr=2e-3) for k, m in self.modules().items()}
        self.gamma, self.expectile, self.beta, self.rate = gamma, expectile, beta, rate

    def modules(self):
        return {"q": self.q, "v": self.v, "pi": self.pi}

    def apply(self, name, loss):
        self.opts[name].zero_grad()
        loss.backward()
        self.opts[name].step()
        return loss.item()

    def update(self, s, a, r, s2):
        log = {}
        with torch.no_grad():
            q = self.q_target(s, a)
        v = self.v(s).squeeze(1)
        adv = q - v
        log["v"] = self.apply("v", expectile_loss(adv, self.expectile))
        weight = (self.beta * adv.detach()).exp().clamp(max=20.0)
        log["pi"] = self.apply("pi", (weight * (torch.tanh(self.pi(s)) - a).pow(2).sum(1)).mean())
        with torch.no_grad():
            y = r + self.gamma * self.v(s2).squeeze(1)
        log["q"] = self.apply("q", sum(F.mse_loss(p, y) for p in self.q.both(s, a)))
        soft_update(self.q_target, self.q, self.rate)
        return log


if __name__ == "__main__":
    torch.manual_seed(3)
    data, algo = dataset(), IQL()
    for step in range(150):
        idx = torch.randint(len(data[2]), (128,))
        log = algo.update(*(col[idx] for col in data))
        if step % 30 == 0:
            print(f"step {step} " + " ".join(f"{k} {v:.4f}" for k, v in log.items()))
