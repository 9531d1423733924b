import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
N_QUANT, GAMMA = 11, 0.9


class WindyLake:
    """Cross a strip of ice against gusts; falling in the hole ends the run."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.x, self.t = int(self.rng.integers(1, 8)), 0
        return self.x

    def step(self, a):
        gust = int(self.rng.choice([-1, 0, 0, 0]))
        self.x = int(np.clip(self.x + (1 if a else -1) + gust, 0, 9))
        self.t += 1
        if self.x == 9:
            return self.x, 1.0, True, True
        if self.x == 0:
            return self.x, -1.0, True, True
        return self.x, -0.02, False, self.t > 40


class QuantileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2 * N_QUANT))

    def forward(self, s):
        return self.net(F.one_hot(s, 10).float()).view(-1, 2, N_QUANT)


def quantile_huber(theta, target, tau, kappa=1.0):
    u = target.unsqueeze(1) - theta.unsqueeze(2)
    huber = torch.where(u.abs() <= kappa, 0.5 * u.pow(2), kappa * (u.abs() - 0.5 * kappa))
    weight = (tau.view(1, -1, 1) - (u.detach() < 0).float()).abs()
    return (weight * huber).sum(1).mean()


def main():
    torch.manual_seed(0)
    env, net = WindyLake(0), QuantileNet()
    target_net = copy.deepcopy(net)
    tau = (torch.arange(N_QUANT) + 0.5) / N_QUANT
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    mem, s, ret, rets = [], env.reset(), 0.0, []
    for t in range(1, 1401):
        if env.rng.random() < max(0.1, 1 - t / 600):
            a = int(env.rng.integers(2))
        else:
            with torch.no_grad():
                a = net(torch.tensor([s])).mean(2).argmax(1).item()
        s2, r, dead, over = env.step(a)
        mem.append((s, a, r, s2, float(dead)))
        s, ret = s2, ret + r
        if over:
            rets.append(ret)
            s, ret = env.reset(), 0.0
        if t > 150 and t % 4 == 0:
            S, A, R, S2, D = (torch.tensor(c) for c in zip(*(mem[i] for i in env.rng.integers(0, len(mem), 64))))
            rows = torch.arange(64)
            with torch.no_grad():
                nxt = target_net(S2)
                best = nxt.mean(2).argmax(1)
                y = R[:, None] + GAMMA * (1 - D[:, None]) * nxt[rows, best]
            loss = quantile_huber(net(S)[rows, A], y, tau)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for p, q in zip(net.parameters(), target_net.parameters()):
                    q.lerp_(p, 0.05)
        if t % 200 == 0:
            print(f"t {t} loss {loss.item():.4f} return {np.mean(rets[-15:]):+.2f}")


if __name__ == "__main__":
    main()
