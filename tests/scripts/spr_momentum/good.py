import copy

import torch
import torch.nn.functional as F
from torch import nn, optim

torch.set_num_threads(1)


class Pellets:
    """4x4 board, agent collects pellets that reappear at random."""

    side = 4

    def __init__(self, n, gen):
        self.n, self.gen = n, gen
        self.me = torch.randint(0, 16, (n,), generator=gen)
        self.food = torch.randint(0, 16, (n,), generator=gen)

    def frame(self):
        f = torch.zeros(self.n, 2, 16)
        f[torch.arange(self.n), 0, self.me] = 1
        f[torch.arange(self.n), 1, self.food] = 1
        return f.view(self.n, 2, 4, 4)

    def step(self, a):
        x, y = self.me % 4, self.me // 4
        x = (x + (a == 0).long() - (a == 1).long()).clamp(0, 3)
        y = (y + (a == 2).long() - (a == 3).long()).clamp(0, 3)
        self.me = y * 4 + x
        hit = self.me == self.food
        self.food = torch.where(hit, torch.randint(0, 16, (self.n,), generator=self.gen), self.food)
        return self.frame(), hit.float()


def conv_encoder():
    return nn.Sequential(nn.Conv2d(2, 12, 2), nn.ReLU(), nn.Flatten(), nn.Linear(12 * 9, 48), nn.Tanh())


class SPRAgent(nn.Module):
    def __init__(self, n_act=4, m=0.97):
        super().__init__()
        self.m, self.n_act = m, n_act
        self.encoder = conv_encoder()
        self.q_head = nn.Linear(48, n_act)
        self.transition = nn.Sequential(nn.Linear(48 + n_act, 64), nn.ReLU(), nn.Linear(64, 48))
        self.predictor = nn.Linear(48, 48)
        self.momentum_encoder = copy.deepcopy(self.encoder)
        self.momentum_head = copy.deepcopy(self.q_head)

    def q(self, x):
        return self.q_head(self.encoder(x))

    @torch.no_grad()
    def slow_q(self, x):
        return self.momentum_head(self.momentum_encoder(x))

    def spr_loss(self, x, a, x2):
        z = self.transition(torch.cat([self.encoder(x), F.one_hot(a, self.n_act).float()], 1))
        guess = F.normalize(self.predictor(z), dim=1)
        with torch.no_grad():
            truth = F.normalize(self.momentum_encoder(x2), dim=1)
        return -(guess * truth).sum(1).mean()

    @torch.no_grad()
    def ema(self):
        pairs = ((self.encoder, self.momentum_encoder), (self.q_head, self.momentum_head))
        for src, dst in pairs:
            torch._foreach_lerp_(list(dst.parameters()), list(src.parameters()), 1 - self.m)

    def online_parameters(self):
        for part in (self.encoder, self.q_head, self.transition, self.predictor):
            yield from part.parameters()


def main():
    torch.manual_seed(2)
    gen = torch.Generator().manual_seed(2)
    env, agent, store = Pellets(12, gen), SPRAgent(), []
    opt = optim.Adam(agent.online_parameters(), lr=1e-3)
    x = env.frame()
    for k in range(180):
        with torch.no_grad():
            a = agent.q(x).argmax(1)
        explore = torch.rand(12, generator=gen) < 0.3
        a = torch.where(explore, torch.randint(0, 4, (12,), generator=gen), a)
        x2, r = env.step(a)
        store.append((x, a, r, x2))
        x = x2
        i = torch.randint(len(store), (3,), generator=gen).tolist()
        bx, ba, br, bx2 = (torch.cat([store[j][c] for j in i]) for c in range(4))
        y = br + 0.9 * agent.slow_q(bx2).max(1).values
        td = F.smooth_l1_loss(agent.q(bx).gather(1, ba[:, None]).squeeze(1), y)
        aux = agent.spr_loss(bx, ba, bx2)
        opt.zero_grad()
        (td + 0.5 * aux).backward()
        opt.step()
        agent.ema()
        if k % 45 == 44:
            print(f"k {k} td {td.item():.4f} spr {aux.item():.4f} reward {r.mean():.3f}")


if __name__ == "__main__":
    main()
