import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.set_num_threads(1)


class OfflineModule(nn.Module):
    def __init__(self, obs_dim, act_dim, gamma=0.97, bc_weight=2.5):
        super().__init__()
        self.gamma, self.bc_weight = gamma, bc_weight
        self.actor = nn.Sequential(nn.Linear(obs_dim, 64), nn.ReLU(), nn.Linear(64, act_dim), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(obs_dim + act_dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def configure_targets(self):
        return copy.deepcopy(self.actor).requires_grad_(False), copy.deepcopy(self.critic).requires_grad_(False)

    def training_step(self, batch, targets):
        s, a, r, s2, d = batch
        actor_t, critic_t = targets
        with torch.no_grad():
            noise = (0.1 * torch.randn_like(a)).clamp(-0.3, 0.3)
            a2 = (actor_t(s2) + noise).clamp(-1, 1)
            boot = critic_t(torch.cat([s2, a2], 1)).min(1, keepdim=True).values
            y = r + self.gamma * (1 - d) * boot
        losses = {}
        losses["td"] = F.mse_loss(self.critic(torch.cat([s, a], 1)), y.expand(-1, 2))
        pi = self.actor(s)
        held = {k: v.detach() for k, v in self.critic.named_parameters()}
        q = functional_call(self.critic, held, (torch.cat([s, pi], 1),))[:, 0]
        losses["actor"] = -q.mean() / q.abs().mean().detach()
        losses["bc"] = self.bc_weight * F.mse_loss(pi, a)
        return losses


class Fit:
    """minimal trainer"""

    def __init__(self, module, data, lr=1e-3, tau=0.01):
        self.module, self.data, self.tau = module, data, tau
        self.optimizer = torch.optim.Adam(module.parameters(), lr=lr)
        self.targets = module.configure_targets()

    def run(self, steps, batch_size):
        for i in range(steps):
            pick = torch.randint(0, len(self.data[0]), (batch_size,))
            losses = self.module.training_step([x[pick] for x in self.data], self.targets)
            self.optimizer.zero_grad()
            sum(losses.values()).backward()
            self.optimizer.step()
            self.sync()
            if i % 50 == 49:
                print(f"step {i} " + " ".join(f"{k}={v.item():+.4f}" for k, v in losses.items()))

    @torch.no_grad()
    def sync(self):
        for live, slow in zip((self.module.actor, self.module.critic), self.targets):
            for p, q in zip(live.parameters(), slow.parameters()):
                q.mul_(1 - self.tau).add_(p, alpha=self.tau)


def log_of_a_mediocre_operator(n):
    s = torch.randn(n, 3)
    a = torch.tanh(-0.5 * s[:, :1] + 0.3 * s[:, 1:2] + 0.4 * torch.randn(n, 1))
    s2 = 0.8 * s + torch.cat([0.5 * a, 0.2 * a, torch.zeros_like(a)], 1) + 0.05 * torch.randn(n, 3)
    r = -(s2[:, :1] ** 2) - 0.1 * a ** 2
    d = (s2[:, :1].abs() > 2.5).float()
    return s, a, r, s2, d


if __name__ == "__main__":
    torch.manual_seed(77)
    dataset = log_of_a_mediocre_operator(3000)
    Fit(OfflineModule(3, 1), dataset).run(steps=250, batch_size=64)
