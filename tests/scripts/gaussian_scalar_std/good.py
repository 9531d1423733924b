import dataclasses
import math

import torch
from torch import nn
from torch.distributions import Normal

torch.set_num_threads(1)


@dataclasses.dataclass
class Config:
    iterations: int = 40
    epochs: int = 4
    batch: int = 256
    minibatch: int = 64
    clip: float = 0.2
    lr: float = 4e-3
    seed: int = 11


class ReachPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
        self.value = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def distribution(self, obs):
        mu = self.mean(obs)
        std = self.log_std.exp()
        return Normal(mu, std)

    def evaluate(self, obs, act):
        dist = self.distribution(obs)
        return dist.log_prob(act).sum(-1), self.value(obs).squeeze(-1)


def reward_fn(obs, act):
    hand, target = obs[:, :2], obs[:, 2:]
    return -(hand + act - target).norm(dim=-1)


def collect(policy, cfg):
    obs = torch.rand(cfg.batch, 4) * 2 - 1
    with torch.no_grad():
        act = policy.distribution(obs).sample()
        logp, value = policy.evaluate(obs, act)
    rew = reward_fn(obs, act)
    adv = rew - value
    return obs, act, logp, rew, adv


def update(policy, opt, cfg, data):
    obs, act, old_logp, ret, adv = data
    for _ in range(cfg.epochs):
        for idx in torch.randperm(cfg.batch).split(cfg.minibatch):
            logp, value = policy.evaluate(obs[idx], act[idx])
            ratio = torch.exp(logp - old_logp[idx])
            a = adv[idx]
            a = (a - a.mean()) / (a.std() + 1e-8)
            pg = -torch.min(ratio * a, ratio.clamp(1 - cfg.clip, 1 + cfg.clip) * a).mean()
            vf = (value - ret[idx]).pow(2).mean()
            opt.zero_grad()
            (pg + 0.5 * vf).backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            opt.step()


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    policy = ReachPolicy()
    opt = torch.optim.Adam(policy.parameters(), lr=cfg.lr)
    for it in range(cfg.iterations):
        data = collect(policy, cfg)
        update(policy, opt, cfg, data)
        if it % 8 == 0:
            print(f"iter {it:3d} reward {data[3].mean().item():+.3f} log_std {policy.log_std.item():+.3f}")


if __name__ == "__main__":
    main()
