"""Evaluate a fixed controller: how long until the drifting particle leaves the disc?"""
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
GAMMA, LAM, T, N = 0.95, 0.8, 16, 12


def lambda_returns(rewards, alive, values):
    """G_t = r_t + gamma * alive_t * ((1 - lam) * V_{t+1} + lam * G_{t+1})"""
    out = []
    g = values[-1]
    for t in reversed(range(len(rewards))):
        g = rewards[t] + GAMMA * alive[t] * ((1 - LAM) * values[t + 1] + LAM * g)
        out.insert(0, g)
    return torch.stack(out)


class Particles:
    def __init__(self, n):
        self.n = n
        self.p = 0.6 * torch.randn(n, 2)

    def controller(self):
        return -0.35 * self.p

    def step(self):
        self.p = self.p + self.controller() + 0.45 * torch.randn(self.n, 2)
        outside = self.p.norm(dim=1) > 1.6
        reward = 0.2 - 0.1 * self.p.norm(dim=1) - outside.float()
        self.p = torch.where(outside[:, None], 0.6 * torch.randn(self.n, 2), self.p)
        return reward, 1.0 - outside.float()


def segment(env):
    obs, rew, alive = [env.p.clone()], [], []
    for _ in range(T):
        r, a = env.step()
        obs.append(env.p.clone())
        rew.append(r)
        alive.append(a)
    return torch.stack(obs), torch.stack(rew), torch.stack(alive)


def main():
    torch.manual_seed(21)
    env = Particles(N)
    v = nn.Sequential(nn.Linear(2, 48), nn.ELU(), nn.Linear(48, 48), nn.ELU(), nn.Linear(48, 1))
    opt = torch.optim.Adam(v.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: 0.5 * (1 + math.cos(math.pi * min(k, 149) / 150)))
    for update in range(150):
        obs, rew, alive = segment(env)
        values = v(obs).squeeze(-1)
        targets = lambda_returns(rew, alive, values.detach())
        loss = F.smooth_l1_loss(values[:-1], targets)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
        if update % 30 == 29:
            with torch.no_grad():
                centre, edge = v(torch.tensor([[0.0, 0.0], [1.4, 0.0]])).flatten().tolist()
            print(f"update {update:3d} loss {loss.item():.4f} V(centre) {centre:+.3f} V(edge) {edge:+.3f}")


if __name__ == "__main__":
    main()
