from typing import NamedTuple

import torch
from torch import nn, Tensor
from torch.distributions import Independent, Normal

torch.set_num_threads(1)


class Config(NamedTuple):
    envs: int = 32
    horizon: int = 12
    updates: int = 125
    gamma: float = 0.9
    lr: float = 1e-3
    spread_lo: float = -4.0
    spread_hi: float = -1.0
    ent: float = 0.12


class Crane:
    """Position the trolley above a moving container; batched in torch."""

    def __init__(self, n: int):
        self.n = n

    def reset(self) -> Tensor:
        self.x = torch.rand(self.n) * 6 - 3
        self.v = torch.zeros(self.n)
        self.c = torch.rand(self.n) * 2 - 1
        return self.obs()

    def obs(self) -> Tensor:
        gap = self.c - self.x
        return torch.stack([gap, gap.abs(), self.v, self.c], 1)

    def step(self, a: Tensor):
        self.v = 0.6 * self.v + 0.5 * a[:, 0].clamp(-1.5, 1.5)
        self.x = self.x + self.v
        self.c = (self.c + 0.05 * torch.randn(self.n)).clamp(-1.5, 1.5)
        return self.obs(), 0.3 - (self.c - self.x).abs() * 0.3


class ActorCritic(nn.Module):
    def __init__(self, cfg: Config, width: int = 64):
        super().__init__()
        self.cfg = cfg
        self.body = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.mean, self.spread = nn.Linear(width, 1), nn.Linear(width, 1)
        self.value = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))

    def dist(self, o: Tensor) -> Independent:
        h = self.body(o)
        s = torch.clip(self.spread(h), self.cfg.spread_lo, self.cfg.spread_hi)  # <- culprit
        return Independent(Normal(self.mean(h), s.exp()), 1)


def gather(env: Crane, net: ActorCritic, cfg: Config):
    obs, acts, rews, o = [], [], [], env.reset()
    for _ in range(cfg.horizon):
        with torch.no_grad():
            a = net.dist(o).sample()
        obs.append(o)
        acts.append(a)
        o, r = env.step(a)
        rews.append(r)
    with torch.no_grad():
        run = net.value(o).squeeze(-1)
    rets = []
    for r in reversed(rews):
        run = r + cfg.gamma * run
        rets.insert(0, run)
    return torch.cat(obs), torch.cat(acts), torch.cat(rets), torch.stack(rews).mean()


def train(cfg: Config):
    torch.manual_seed(21)
    env, net = Crane(cfg.envs), ActorCritic(cfg)
    heads = [*net.body.parameters(), *net.mean.parameters(), *net.spread.parameters()]
    opt = torch.optim.Adam([{"params": heads}, {"params": net.value.parameters(), "lr": 8e-3}], lr=cfg.lr)
    for k in range(cfg.updates):
        o, a, ret, score = gather(env, net, cfg)
        v = net.value(o).squeeze(-1)
        adv = (ret - v).detach()
        d = net.dist(o)
        policy = -(d.log_prob(a) * adv / (adv.std() + 1e-6)).mean()
        loss = policy + 0.5 * (v - ret).pow(2).mean() - cfg.ent * d.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if k % 25 == 24:
            width = d.base_dist.scale.mean()
            ev = 1 - (ret - v).var() / ret.var()
            print(f"{k + 1:3d} reward {score:.3f} spread {width:.3f} ev {ev:.2f} loss {loss.item():+.3f}")


if __name__ == "__main__":
    train(Config())
