import copy

import torch
import torch.nn as nn
from torch.distributions import Normal


class Twin(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=48):
        super().__init__()
        def q():
            return nn.Sequential(nn.Linear(obs_dim + act_dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.a, self.b = q(), q()

    def forward(self, obs, act):
        x = torch.cat([obs, act], dim=-1)
        return self.a(x), self.b(x)

    def min_q(self, obs, act):
        return torch.minimum(*self(obs, act))


class Squashed(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, act_dim)
        self.log_std = nn.Linear(hidden, act_dim)

    def forward(self, obs):
        h = self.body(obs)
        base = Normal(self.mu(h), self.log_std(h).clamp(-5, 1).exp())
        raw = base.rsample()
        act = torch.tanh(raw)
        correction = 2 * (0.6931472 - raw - nn.functional.softplus(-2 * raw))
        return act, (base.log_prob(raw) - correction).sum(-1, keepdim=True)


class SAC:
    def __init__(self, obs_dim, act_dim, alpha=0.05, gamma=0.95, tau=0.02, lr=2e-3):
        self.pi, self.q = Squashed(obs_dim, act_dim), Twin(obs_dim, act_dim)
        self.q_target = copy.deepcopy(self.q).requires_grad_(False)
        self.pi_opt = torch.optim.Adam(self.pi.parameters(), lr=lr)
        self.q_opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.alpha, self.gamma, self.tau = alpha, gamma, tau

    @torch.no_grad()
    def act(self, obs):
        return self.pi(torch.as_tensor(obs).unsqueeze(0))[0].squeeze(0).numpy()

    def critic_loss(self, obs, act, rew, nxt):
        with torch.no_grad():
            a2, logp2 = self.pi(nxt)
            backup = rew + self.gamma * (self.q_target.min_q(nxt, a2) - self.alpha * logp2)
        return sum((q - backup).square().mean() for q in self.q(obs, act))

    def actor_loss(self, obs):
        act, logp = self.pi(obs)
        value = self.q.min_q(obs, act).detach()  # <- culprit
        return (self.alpha * logp - value).mean()

    def update(self, obs, act, rew, nxt):
        q_loss = self.critic_loss(obs, act, rew, nxt)
        self.q_opt.zero_grad()
        q_loss.backward()
        self.q_opt.step()

        pi_loss = self.actor_loss(obs)
        self.pi_opt.zero_grad()
        pi_loss.backward()
        self.pi_opt.step()

        with torch.no_grad():
            for p, t in zip(self.q.parameters(), self.q_target.parameters()):
                t.lerp_(p, self.tau)
        return {"q_loss": q_loss.item(), "pi_loss": pi_loss.item()}
