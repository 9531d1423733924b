import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Heater:
    """keep the room warm; power above the fuse rating counts as cost"""

    def __init__(self, n):
        self.n = n
        self.temp = torch.zeros(n)
        self.outside = -torch.rand(n)

    def obs(self):
        return torch.stack([self.temp, self.outside], 1)

    def step(self, power):
        p = power.squeeze(1)
        self.temp = 0.85 * self.temp + 0.15 * self.outside + 0.4 * p
        self.outside = (self.outside + 0.1 * torch.randn(self.n)).clamp(-1, 0)
        return self.obs(), -(self.temp - 1.0).abs(), F.relu(p - 0.4)


def build(i, o, last=None):
    mods = [nn.Linear(i, 48), nn.Tanh(), nn.Linear(48, o)]
    return nn.Sequential(*(mods + ([last] if last else [])))


class SafeDDPG:
    def __init__(self, limit=0.02):
        self.limit = limit
        self.actor = build(2, 1, nn.Tanh())
        self.reward_q, self.cost_q = build(3, 1), build(3, 1)
        self.actor_t, self.reward_t, self.cost_t = build(2, 1, nn.Tanh()), build(3, 1), build(3, 1)
        self.pairs = [(self.actor, self.actor_t), (self.reward_q, self.reward_t), (self.cost_q, self.cost_t)]
        for live, slow in self.pairs:
            slow.load_state_dict(live.state_dict())
        self.lam = nn.Parameter(torch.tensor(0.5))
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam([*self.reward_q.parameters(), *self.cost_q.parameters()], lr=3e-3)
        self.lam_opt = torch.optim.SGD([self.lam], lr=0.05)

    @property
    def multiplier(self):
        return F.softplus(self.lam)

    def critic_step(self, s, a, r, c, s2):
        with torch.no_grad():
            x2 = torch.cat([s2, self.actor_t(s2)], 1)
            yr = r[:, None] + 0.9 * self.reward_t(x2)
            yc = c[:, None] + 0.9 * self.cost_t(x2)
        x = torch.cat([s, a], 1)
        loss = F.mse_loss(self.reward_q(x), yr) + F.mse_loss(self.cost_q(x), yc)
        self.critic_opt.zero_grad()
        loss.backward()
        self.critic_opt.step()
        return loss.item()

    def actor_step(self, s):
        self.actor_opt.zero_grad()
        self.lam_opt.zero_grad()
        x = torch.cat([s, self.actor(s)], 1)
        actor_loss = (self.multiplier.detach() * self.cost_q(x) - self.reward_q(x)).mean()
        actor_loss.backward()
        with torch.no_grad():
            violation = self.cost_q(torch.cat([s, self.actor(s)], 1)) - self.limit / 0.1
        lam_loss = -(self.multiplier * violation).mean()
        lam_loss.backward()
        self.actor_opt.step()
        self.lam_opt.step()

    @torch.no_grad()
    def polyak(self, tau=0.02):
        for live, slow in self.pairs:
            for p, q in zip(live.parameters(), slow.parameters()):
                q += tau * (p - q)


if __name__ == "__main__":
    random.seed(3)
    torch.manual_seed(3)
    env, agent, mem = Heater(16), SafeDDPG(), deque(maxlen=200)
    s = env.obs()
    for t in range(240):
        with torch.no_grad():
            a = (agent.actor(s) + 0.2 * torch.randn(16, 1)).clamp(-1, 1)
        s2, r, c = env.step(a)
        mem.append((s, a, r, c, s2))
        s = s2
        if len(mem) < 6:
            continue
        batch = [torch.cat(col) for col in zip(*random.sample(mem, 4))]
        q_loss = agent.critic_step(*batch)
        agent.actor_step(batch[0])
        agent.polyak()
        if t % 48 == 47:
            print(f"t {t} reward {r.mean():+.3f} cost {c.mean():.3f} lambda {agent.multiplier.item():.2f} q {q_loss:.4f}")
