from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

torch.set_num_threads(1)


@dataclass(frozen=True)
class TrainerConfig:
    lr: float = 3e-2
    weight_decay: float = 0.0
    max_norm: float = 0.0  # 0 switches clipping off
    n_envs: int = 32
    horizon: int = 8
    gamma: float = 0.9
    updates: int = 150


class Trainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.opt = torch.optim.SGD(self.params, lr=cfg.lr, momentum=0.9, weight_decay=cfg.weight_decay)
        self.norms = []

    def gradient_norm(self):
        return get_total_norm([p.grad for p in self.params if p.grad is not None], norm_type=2.0, foreach=True)

    def apply(self, loss):
        self.opt.zero_grad()
        loss.backward()
        total = self.gradient_norm()
        self.norms.append(total.item())
        if self.cfg.max_norm > 0:
            clip_grads_with_norm_(self.params, self.cfg.max_norm, total, foreach=True)
        self.opt.step()


class Mill(nn.Module):
    """Policy and value of a grinding mill operator."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, x):
        h = self.shared(x)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class MillSim:
    def __init__(self, n):
        self.n = n

    def reset(self):
        self.ore, self.speed = torch.rand(self.n, 3), torch.zeros(self.n, 1)
        return torch.cat([self.ore, self.speed], 1)

    def step(self, a):
        self.speed = (self.speed + 0.2 * (a[:, None] - 1)).clamp(-1, 1)
        want = (2 * self.ore[:, :1] - 1) * (self.ore[:, 1:2] > 0.3).float()
        r = 1 - (self.speed - want).abs().squeeze(1)
        self.ore = 0.9 * self.ore + 0.1 * torch.rand(self.n, 3)
        return torch.cat([self.ore, self.speed], 1), r


def segment(env, obs, model, cfg):
    logps, values, rewards, ents = [], [], [], []
    for _ in range(cfg.horizon):
        dist, v = model(obs)
        a = dist.sample()
        obs, r = env.step(a)
        logps.append(dist.log_prob(a))
        values.append(v)
        rewards.append(r)
        ents.append(dist.entropy())
    with torch.no_grad():
        g, returns = model(obs)[1], []
    for r in reversed(rewards):
        g = r + cfg.gamma * g
        returns.append(g)
    returns, values = torch.stack(returns[::-1]), torch.stack(values)
    adv = (returns - values).detach()
    loss = -(torch.stack(logps) * adv).mean() + 0.5 * (values - returns).square().mean() - 0.01 * torch.stack(ents).mean()
    return loss, torch.stack(rewards).mean().item()


def main(cfg=TrainerConfig()):
    torch.manual_seed(31)
    env, model = MillSim(cfg.n_envs), Mill()
    trainer = Trainer(model, cfg)
    for u in range(cfg.updates):
        loss, reward = segment(env, env.reset(), model, cfg)
        trainer.apply(loss)
        if u % 30 == 0:
            print(f"update {u} reward {reward:.3f} loss {loss.item():.4f} gradient norm {trainer.norms[-1]:.3f}")


if __name__ == "__main__":
    main()
