import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class GaussianPolicy(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs_dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.mean = nn.Linear(64, act_dim)
        self.log_std = nn.Linear(64, act_dim)

    def evaluate(self, obs):
        h = self.trunk(obs)
        log_std = -1.5 + 2.0 * torch.tanh(self.log_std(h))
        noise = torch.randn(obs.shape[0], self.mean.out_features)
        u = self.mean(h) + log_std.exp() * noise
        log_pi = (-0.5 * noise.pow(2) - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)
        log_pi = log_pi - (2 * (math.log(2) - u - F.softplus(-2 * u))).sum(-1)
        return torch.tanh(u), log_pi


class TwinQ(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        make = lambda: nn.Sequential(nn.Linear(obs_dim + act_dim, 64), nn.ReLU(), nn.Linear(64, 1))
        self.a, self.b = make(), make()

    def forward(self, obs, act):
        x = torch.cat([obs, act], -1)
        return self.a(x).squeeze(-1), self.b(x).squeeze(-1)


class Trainer:
    def __init__(self, obs_dim=3, act_dim=2, gamma=0.9, tau=0.02):
        self.policy = GaussianPolicy(obs_dim, act_dim)
        self.q = TwinQ(obs_dim, act_dim)
        self.q_target = copy.deepcopy(self.q).requires_grad_(False)
        self.log_alpha = torch.tensor(-2.0, requires_grad=True)
        self.target_entropy = -float(act_dim)
        self.gamma, self.tau = gamma, tau
        self.q_opt = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.pi_opt = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=3e-3)

    def critic_step(self, s, a, r, s2):
        with torch.no_grad():
            a2, logp2 = self.policy.evaluate(s2)
            backup = r + self.gamma * (torch.min(*self.q_target(s2, a2)) - self.log_alpha.exp() * logp2)
        q1, q2 = self.q(s, a)
        loss = F.mse_loss(q1, backup) + F.mse_loss(q2, backup)
        self.q_opt.zero_grad()
        loss.backward()
        self.q_opt.step()
        return loss.item()

    def actor_step(self, s):
        act, log_pi = self.policy.evaluate(s)  # <- culprit
        policy_loss = (self.log_alpha.exp().detach() * log_pi - torch.min(*self.q(s, act))).mean()
        self.pi_opt.zero_grad()
        policy_loss.backward()
        self.pi_opt.step()

        alpha_loss = -(self.log_alpha.exp() * (log_pi + self.target_entropy)).mean()  # <- culprit
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()
        return policy_loss.item(), alpha_loss.item()

    def update(self, s, a, r, s2):
        lq = self.critic_step(s, a, r, s2)
        lp, la = self.actor_step(s)
        with torch.no_grad():
            for p, t in zip(self.q.parameters(), self.q_target.parameters()):
                t.lerp_(p, self.tau)
        return lq, lp, la


trainer = Trainer()
for it in range(150):
    s = torch.rand(64, 3) * 2 - 1
    a = torch.rand(64, 2) * 2 - 1
    r = 1 - (a - 0.5 * s[:, :2]).pow(2).sum(-1)
    s2 = (0.95 * s + 0.05 * torch.randn(64, 3)).clamp(-1, 1)
    lq, lp, la = trainer.update(s, a, r, s2)
    if it % 30 == 29:
        print(f"it {it + 1} q {lq:.4f} pi {lp:.4f} alpha {trainer.log_alpha.exp().item():.4f}")
