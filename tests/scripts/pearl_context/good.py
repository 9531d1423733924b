import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

torch.set_num_threads(1)
S, A, Z = 2, 2, 3


def net(n_in, n_out, width=48):
    return nn.Sequential(nn.Linear(n_in, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, n_out))


class ContextEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = net(S + 2 * A + 1, 2 * Z)

    def forward(self, context):
        stats = self.trunk(context).mean(dim=1)
        mu, raw = stats.chunk(2, dim=-1)
        return Normal(mu, F.softplus(raw - 2.0) + 1e-3)


class Tasks:
    """Each task hides a direction; the reward is the projection of the move on it."""

    def __init__(self, n):
        ang = torch.arange(n) * (6.283 / n)
        self.dirs = torch.stack([ang.cos(), ang.sin()], dim=1)

    def batch(self, ids, n):
        s = torch.randn(len(ids), n, S) * 0.5
        a = torch.rand(len(ids), n, A) * 2 - 1
        return s, a, self.reward(ids, s, a)

    def reward(self, ids, s, a):
        return ((a + 0.2 * s) * self.dirs[ids][:, None]).sum(-1, keepdim=True)


class Agent:
    def __init__(self):
        self.encoder = ContextEncoder()
        self.q = net(S + A + Z, 1)
        self.pi = nn.Sequential(net(S + Z, A), nn.Tanh())
        self.critic_opt = torch.optim.Adam([*self.q.parameters(), *self.encoder.parameters()], lr=4e-3)
        self.actor_opt = torch.optim.Adam(self.pi.parameters(), lr=1e-3)
        self.prior = Normal(torch.zeros(Z), torch.ones(Z))

    def infer(self, s, a, r):
        posterior = self.encoder(torch.cat([s, a, r, r * a], dim=-1))
        z = posterior.rsample()
        return z, posterior

    def update(self, context, batch, kl_weight=0.001):
        z, posterior = self.infer(*context)
        s, a, r = batch
        zz = z[:, None].expand(-1, s.shape[1], -1)
        q = self.q(torch.cat([s, a, zz], dim=-1))
        q_loss = F.mse_loss(q, r)
        kl = kl_divergence(posterior, self.prior).sum(-1).mean()
        self.critic_opt.zero_grad()
        (q_loss + kl_weight * kl).backward()
        self.critic_opt.step()

        zz = zz.detach()
        act = self.pi(torch.cat([s, zz], dim=-1))
        pi_loss = -self.q(torch.cat([s, act, zz], dim=-1)).mean()
        self.actor_opt.zero_grad()
        pi_loss.backward()
        self.actor_opt.step()
        return q_loss.item(), kl.item()


def main():
    torch.manual_seed(0)
    tasks, agent = Tasks(4), Agent()
    for step in range(600):
        ids = torch.randperm(4)
        q_loss, kl = agent.update(tasks.batch(ids, 16), tasks.batch(ids, 48))
        if step % 100 == 0:
            with torch.no_grad():
                z, _ = agent.infer(*tasks.batch(ids, 16))
                s = torch.randn(4, 20, S) * 0.5
                a = agent.pi(torch.cat([s, z[:, None].expand(-1, 20, -1)], dim=-1))
                score = tasks.reward(ids, s, a).mean().item()
            print(f"step {step:3d} q {q_loss:.4f} kl {kl:.3f} score {score:+.3f}")


if __name__ == "__main__":
    main()
