import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Embedding(nn.Module):
    def __init__(self, obs_dim, dim=16):
        super().__init__()
        self.lin = nn.Linear(obs_dim, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, o):
        return torch.tanh(self.norm(self.lin(o)))


class TwinQ(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.embedding = Embedding(obs_dim)
        self.q1 = nn.Sequential(nn.Linear(16 + act_dim, 32), nn.ReLU(), nn.Linear(32, 1))
        self.q2 = nn.Sequential(nn.Linear(16 + act_dim, 32), nn.ReLU(), nn.Linear(32, 1))
        self.deploy = False

    def embed(self, obs):
        with torch.set_grad_enabled(self.deploy):  # <- culprit
            return self.embedding(obs)

    def forward(self, obs, act):
        x = torch.cat([self.embed(obs), act], -1)
        return self.q1(x), self.q2(x)


class TD3:
    def __init__(self, obs_dim, act_dim):
        self.actor = nn.Sequential(nn.Linear(obs_dim, 32), nn.ReLU(), nn.Linear(32, act_dim), nn.Tanh())
        self.actor_t = copy.deepcopy(self.actor)
        self.critic = TwinQ(obs_dim, act_dim)
        self.critic_t = copy.deepcopy(self.critic)
        self.a_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.c_opt = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.it = 0

    def train(self, o, a, r, o2, not_done):
        self.it += 1
        with torch.no_grad():
            noise = (torch.randn_like(a) * 0.2).clamp(-0.5, 0.5)
            a2 = (self.actor_t(o2) + noise).clamp(-1, 1)
            y = r + 0.95 * not_done * torch.min(*self.critic_t(o2, a2))
        q1, q2 = self.critic(o, a)
        c_loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
        self.c_opt.zero_grad()
        c_loss.backward()
        self.c_opt.step()
        if self.it % 2 == 0:
            a_loss = -self.critic(o, self.actor(o))[0].mean()
            self.a_opt.zero_grad()
            a_loss.backward()
            self.a_opt.step()
            for net, tgt in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
                for p, tp in zip(net.parameters(), tgt.parameters()):
                    tp.data.copy_(0.98 * tp.data + 0.02 * p.data)
        return c_loss.item()


def tank_step(level, a, rng):
    level = np.clip(level + 0.2 * a + rng.normal(0, 0.02, 3), -1, 1).astype(np.float32)
    return level, float(-np.abs(level - 0.3).sum())


def main():
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    agent, buf = TD3(3, 3), []
    s = rng.uniform(-1, 1, 3).astype(np.float32)
    for t in range(140):
        with torch.no_grad():
            a = agent.actor(torch.from_numpy(s)).numpy() + rng.normal(0, 0.2, 3).astype(np.float32)
        a = np.clip(a, -1, 1)
        s2, r = tank_step(s, a, rng)
        end = t % 20 == 19
        buf.append((s, a, np.float32([r]), s2, np.float32([1 - end])))
        s = rng.uniform(-1, 1, 3).astype(np.float32) if end else s2
        if t >= 40 and t % 2 == 0:
            batch = [torch.from_numpy(np.stack(c)) for c in zip(*[buf[i] for i in rng.integers(0, len(buf), 32)])]
            loss = agent.train(*batch)
            if t % 20 == 0:
                print(f"{t} critic loss {loss:.4f} reward {r:.3f}")


if __name__ == "__main__":
    main()
