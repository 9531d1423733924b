import argparse
import copy

import torch
import torch.nn as nn

torch.set_num_threads(1)


class Freight:
    """Random dispatch decisions of a truck; costs per leg in euros."""

    def __init__(self, gen):
        self.gen = gen

    def batch(self, n):
        km, load = (torch.rand(n, 1, generator=self.gen) for _ in range(2))
        cost = -(40 + 120 * km + 60 * km * load)
        km2 = (0.5 * km + 0.5 * torch.rand(n, 1, generator=self.gen))
        load2 = torch.rand(n, 1, generator=self.gen)
        noise = 5 * torch.randn(n, 1, generator=self.gen)
        return torch.cat([km, load], 1), cost + noise, torch.cat([km2, load2], 1)


def build(width=48):
    net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
    return net


class Fitter:
    def __init__(self, gamma, lr, max_norm):
        self.net = build()
        self.frozen = copy.deepcopy(self.net)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.gamma, self.max_norm = gamma, max_norm

    def step(self, s, r, s2):
        with torch.no_grad():
            y = r + self.gamma * self.frozen(s2)
        loss = (self.net(s) - y).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), self.max_norm)
        self.opt.step()
        return loss.item(), norm.item()

    def refresh(self):
        self.frozen.load_state_dict(self.net.state_dict())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--gamma", type=float, default=0.5)
    p.add_argument("--lr", type=float, default=4e-2)
    p.add_argument("--max-norm", type=float, default=200.0)
    p.add_argument("--updates", type=int, default=350)
    a = p.parse_args()
    torch.manual_seed(34)
    world = Freight(torch.Generator().manual_seed(34))
    fitter = Fitter(a.gamma, a.lr, a.max_norm)
    clipped = 0
    for i in range(1, a.updates + 1):
        loss, norm = fitter.step(*world.batch(128))
        clipped += norm > a.max_norm
        if i % 25 == 0:
            fitter.refresh()
        if i % 50 == 0 or i == 1:
            print(f"update {i} loss {loss:.1f} gradient norm {norm:.1f} clipped so far {clipped}")


if __name__ == "__main__":
    main()
