import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.set_num_threads(1)


def expert_action(s):
    return torch.stack([-0.8 * s[:, 0], 0.5 * s[:, 1] - 0.2], 1)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 48), nn.Softplus(), nn.Linear(48, 1))

    def forward(self, s, a):
        return self.f(torch.cat([s, a], 1)).squeeze(1)

    def penalty(self, s, real, fake):
        mix = torch.rand(len(s), 1)
        a = (mix * real + (1 - mix) * fake).requires_grad_(True)
        (g,) = torch.autograd.grad(self(s, a).sum(), a, create_graph=True)
        return g.pow(2).sum(1).mean()

    @torch.no_grad()
    def reward(self, s, a):
        return F.softplus(self(s, a))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 2))
        self.log_std = nn.Parameter(torch.full((2,), -0.7))
        self.v = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 1))

    def dist(self, s):
        return Normal(self.mu(s), self.log_std.exp())


def main():
    torch.manual_seed(101)
    policy, disc = Policy(), Discriminator()
    opt_pi = torch.optim.Adam(policy.parameters(), lr=3e-3)
    opt_d = torch.optim.Adam(disc.parameters(), lr=1e-2)
    for it in range(90):
        s = torch.randn(128, 2)
        with torch.no_grad():
            d = policy.dist(s)
            a = d.sample()
            old = d.log_prob(a).sum(1)
        for _ in range(3):
            es = torch.randn(128, 2)
            ea = expert_action(es) + 0.1 * torch.randn(128, 2)
            d_real, d_fake = disc(es, ea), disc(s, a)
            d_loss = F.softplus(-d_real).mean() + F.softplus(d_fake).mean() + 0.1 * disc.penalty(s, expert_action(s), a)
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()

        r = disc.reward(s, a)
        for _ in range(3):
            v = policy.v(s).squeeze(1)
            adv = (r - v).detach()
            adv = (adv - adv.mean()) / (adv.std() + 1e-6)
            ratio = (policy.dist(s).log_prob(a).sum(1) - old).exp()
            pi_loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            v_loss = F.mse_loss(v, r)
            opt_pi.zero_grad()
            (pi_loss + 0.5 * v_loss).backward()
            opt_pi.step()
        if it % 18 == 17:
            with torch.no_grad():
                gap = (policy.mu(s) - expert_action(s)).abs().mean()
            print(f"it {it} d_loss {d_loss.item():.3f} reward {r.mean():.3f} gap to expert {gap:.3f}")


if __name__ == "__main__":
    main()
