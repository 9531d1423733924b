import math

import torch
import torch.nn as nn

torch.set_num_threads(1)


class Darts:
    """Throw at a board at a random distance: choose angle and speed."""

    def reset(self, n):
        self.distance = 1.5 + 2 * torch.rand(n)
        self.height = 0.5 * torch.randn(n)
        return torch.stack([self.distance - 2.5, self.height], 1)

    def throw(self, action):
        angle = 0.6 * torch.tanh(action[:, 0])
        speed = 8 + 3 * torch.tanh(action[:, 1])
        t = self.distance / (speed * torch.cos(angle))
        y = speed * torch.sin(angle) * t - 4.9 * t ** 2
        return -(y - self.height).abs()


class GaussianActor(nn.Module):
    def __init__(self, obs_dim, act_dim, init_std=0.5):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, act_dim))
        self.log_std = nn.Parameter(torch.full((act_dim,), math.log(init_std)))

    def forward(self, obs):
        return torch.distributions.Normal(self.mu(obs), self.log_std.exp())


class Baseline(nn.Module):
    def __init__(self, obs_dim):
        super().__init__()
        self.v = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        return self.v(obs).squeeze(-1)


def train(rounds=50, throws=64):
    torch.manual_seed(17)
    game, actor, baseline = Darts(), GaussianActor(2, 2), Baseline(2)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=5e-3)
    base_opt = torch.optim.Adam(baseline.parameters(), lr=1e-2)
    for k in range(rounds):
        obs = game.reset(throws)
        dist = actor(obs)
        action = dist.sample()
        score = game.throw(action)

        expected = baseline(obs)
        base_loss = (expected - score).pow(2).mean()
        base_opt.zero_grad()
        base_loss.backward()
        base_opt.step()

        adv = score - expected.detach()
        adv = adv / (adv.std() + 1e-6)
        loss = -(dist.log_prob(action).sum(1) * adv).mean()
        actor_opt.zero_grad()
        loss.backward()
        actor_opt.step()
        if k % 10 == 9:
            spread = ", ".join(f"{s:.3f}" for s in actor.log_std.exp().tolist())
            print(f"round {k + 1}: miss {-score.mean():.3f}  baseline {base_loss.item():.3f}  std [{spread}]")


if __name__ == "__main__":
    train()
