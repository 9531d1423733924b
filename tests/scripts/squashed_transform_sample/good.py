import copy

import torch
import torch.nn as nn
from torch.distributions import AffineTransform, Independent, Normal, TanhTransform, TransformedDistribution

torch.set_num_threads(1)


class SquashedPolicy(nn.Module):
    def __init__(self, obs_dim, act_dim, scale=2.0):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(obs_dim, 32), nn.ReLU())
        self.mean = nn.Linear(32, act_dim)
        self.log_std = nn.Linear(32, act_dim)
        self.scale = scale

    def distribution(self, obs):
        h = self.backbone(obs)
        std = self.log_std(h).clamp(-3, 0).exp()
        base = Normal(self.mean(h), std)
        squash = [TanhTransform(cache_size=1), AffineTransform(0.0, self.scale, cache_size=1)]
        return Independent(TransformedDistribution(base, squash), 1)

    def act(self, obs, with_logp=False):
        dist = self.distribution(obs)
        action = dist.rsample()
        if with_logp:
            return action, dist.log_prob(action)
        return action


class SoftQ(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(obs_dim + act_dim, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, o, a):
        return self.f(torch.cat([o, a], -1)).min(-1).values


class Springs:
    def __init__(self, n=16):
        self.n = n
        self.reset()

    def reset(self):
        self.x, self.v = torch.randn(self.n), torch.zeros(self.n)

    def obs(self):
        return torch.stack([self.x, self.v], -1)

    def step(self, a):
        self.v = 0.95 * self.v + 0.1 * (a.squeeze(-1) - self.x)
        self.x = self.x + 0.1 * self.v
        return self.obs(), -(self.x - 1).pow(2)


def soft_update(src, dst, tau=0.01):
    with torch.no_grad():
        for s, d in zip(src.parameters(), dst.parameters()):
            d += tau * (s - d)


if __name__ == "__main__":
    torch.manual_seed(0)
    env, pi, q = Springs(), SquashedPolicy(2, 1), SoftQ(2, 1)
    q_bar = copy.deepcopy(q).requires_grad_(False)
    pi_opt, q_opt = torch.optim.Adam(pi.parameters(), 2e-3), torch.optim.Adam(q.parameters(), 2e-3)
    alpha = 0.02
    obs = env.obs()
    for it in range(40):
        with torch.no_grad():
            a = pi.act(obs)
        nxt, r = env.step(a)
        with torch.no_grad():
            a2, lp2 = pi.act(nxt, with_logp=True)
            y = r + 0.9 * (q_bar(nxt, a2) - alpha * lp2)
        q_loss = (q(obs, a) - y).pow(2).mean()
        q_opt.zero_grad()
        q_loss.backward()
        q_opt.step()
        new_a, logp = pi.act(obs, with_logp=True)
        pi_loss = (alpha * logp - q(obs, new_a)).mean()
        pi_opt.zero_grad()
        pi_loss.backward()
        pi_opt.step()
        soft_update(q, q_bar)
        obs = nxt
        if it % 10 == 0:
            print(f"{it} q {q_loss.item():.3f} pi {pi_loss.item():.3f} r {r.mean():.3f}")
