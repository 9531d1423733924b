import torch
import torch.nn as nn

torch.set_num_threads(1)


class SafePolicy(nn.Module):
    def __init__(self, obs_dim=2, act_dim=1):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(obs_dim, 24), nn.Tanh(), nn.Linear(24, act_dim))
        self.log_std = nn.Parameter(torch.full((act_dim,), -0.7))

    def forward(self, obs):
        return torch.distributions.Normal(self.mu(obs), self.log_std.exp())


class Multiplier(nn.Module):
    def __init__(self, init=0.5, limit=0.3, upper=10.0):
        super().__init__()
        self.value = nn.Parameter(torch.tensor(init))
        self.limit, self.upper = limit, upper

    def loss(self, cost):
        return -self.value * (cost.mean() - self.limit)

    def project(self):
        self.value.data.clamp_(0.0, self.upper)


class Speedway:
    """Faster is better, but speeds over the local limit cost."""

    def __init__(self, n=32):
        self.n = n

    def reset(self):
        self.limit = torch.rand(self.n)
        self.grip = torch.rand(self.n)
        return torch.stack([self.limit, self.grip], 1)

    def outcome(self, speed):
        speed = speed.squeeze(1)
        reward = speed.clamp(0, 2) * (0.5 + 0.5 * self.grip)
        cost = (speed - self.limit).clamp(0, 2)
        return reward, cost


def centre(x):
    return (x - x.mean()) / (x.std() + 1e-6)


def train(iterations=40):
    torch.manual_seed(13)
    env, policy, lam = Speedway(), SafePolicy(), Multiplier()
    pi_opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
    lam_opt = torch.optim.SGD(lam.parameters(), lr=5e-2)
    for it in range(iterations):
        obs = env.reset()
        dist = policy(obs)
        act = dist.sample()
        reward, cost = env.outcome(act)
        weight = centre(reward) - lam.value.item() * centre(cost)
        pi_loss = -(dist.log_prob(act).sum(1) * weight).mean()
        pi_opt.zero_grad()
        pi_loss.backward()
        pi_opt.step()

        lam_loss = lam.loss(cost)
        lam_opt.zero_grad()
        lam_loss.backward()
        lam_opt.step()
        lam.project()
        if it % 8 == 0:
            print(f"{it:3d} reward {reward.mean():.3f} cost {cost.mean():.3f} lambda {lam.value.item():.3f}")


if __name__ == "__main__":
    train()
