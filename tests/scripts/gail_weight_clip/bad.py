import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.set_num_threads(1)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.full((1,), -0.7))

    def forward(self, s):
        return Normal(self.mu(s), self.log_std.exp())


class Discriminator(nn.Module):
    def __init__(self, bound):
        super().__init__()
        self.bound = bound
        self.score = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, s, a):
        return self.score(torch.cat([s, a], dim=1)).squeeze(1)

    def clip_weights(self):
        for p in self.parameters():
            p.clamp_(-self.bound, self.bound)  # <- culprit


def expert_action(s):
    return torch.tanh(s[:, :1] - 0.5 * s[:, 1:2]) + 0.1 * torch.randn(len(s), 1)


class Trainer:
    def __init__(self):
        self.policy, self.disc = Policy(), Discriminator(bound=0.5)
        self.pi_opt = torch.optim.Adam(self.policy.parameters(), lr=5e-3)
        self.d_opt = torch.optim.Adam(self.disc.parameters(), lr=3e-3)

    def discriminator_step(self, n=128):
        s_e, s_p = torch.randn(n, 3), torch.randn(n, 3)
        with torch.no_grad():
            a_p = self.policy(s_p).sample()
        fake, real = self.disc(s_p, a_p), self.disc(s_e, expert_action(s_e))
        loss = F.softplus(fake).mean() + F.softplus(-real).mean()
        self.d_opt.zero_grad()
        loss.backward()
        self.d_opt.step()
        self.disc.clip_weights()
        return loss.item()

    def policy_step(self, n=256):
        s = torch.randn(n, 3)
        dist = self.policy(s)
        a = dist.sample()
        with torch.no_grad():
            reward = F.logsigmoid(self.disc(s, a))
            adv = (reward - reward.mean()) / (reward.std() + 1e-6)
        loss = -(dist.log_prob(a).squeeze(1) * adv).mean()
        self.pi_opt.zero_grad()
        loss.backward()
        self.pi_opt.step()


def main():
    torch.manual_seed(9)
    trainer = Trainer()
    for it in range(150):
        for _ in range(2):
            d_loss = trainer.discriminator_step()
        trainer.policy_step()
        if it % 30 == 0:
            s = torch.randn(500, 3)
            with torch.no_grad():
                err = (trainer.policy.mu(s) - torch.tanh(s[:, :1] - 0.5 * s[:, 1:2])).abs().mean().item()
            print(f"iteration {it:3d} discriminator loss {d_loss:.4f} imitation error {err:.3f}")


if __name__ == "__main__":
    main()
