import torch
import torch.nn as nn
from torch.distributions import Normal

from bounds import scale_to_bounds

torch.set_num_threads(1)

LOW, HIGH = [-2.0, -0.5], [2.0, 0.5]


class GaussianActorCritic(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.mu_net = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, act_dim))
        self.v_net = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(-0.5 * torch.ones(act_dim))

    def policy(self, obs):
        mu = scale_to_bounds(self.mu_net(obs), LOW, HIGH)
        return Normal(mu, self.log_std.exp())

    def value(self, obs):
        return self.v_net(obs).squeeze(-1)


class Targets:
    """Batch of reaching tasks, one step each."""

    def __init__(self, n):
        self.n = n

    def reset(self):
        self.goal = torch.stack([torch.empty(self.n).uniform_(-2, 2), torch.empty(self.n).uniform_(-0.5, 0.5)], 1)
        return torch.cat([self.goal, torch.randn(self.n, 1) * 0.1], 1)

    def step(self, act):
        return -(act - self.goal).abs().sum(1)


def update(model, opt, obs, act, rew):
    dist, v = model.policy(obs), model.value(obs)
    adv = rew - v.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    pg = -(dist.log_prob(act).sum(-1) * adv).mean()
    vf = (v - rew).pow(2).mean()
    loss = pg + 0.5 * vf
    opt.zero_grad()
    loss.backward()
    opt.step()
    return pg.item(), vf.item()


def main():
    torch.manual_seed(4)
    env = Targets(64)
    model = GaussianActorCritic(3, 2)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for i in range(40):
        obs = env.reset()
        with torch.no_grad():
            act = model.policy(obs).sample()
        rew = env.step(act)
        pg, vf = update(model, opt, obs, act, rew)
        if i % 10 == 0:
            print(f"{i:3d} reward {rew.mean():.3f} pg {pg:.4f} vf {vf:.4f}")


if __name__ == "__main__":
    main()
