from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


@dataclass
class Config:
    seed: int = 11
    gamma: float = 0.9
    lr: float = 3e-3
    cells: int = 10
    colours: int = 4
    episodes: int = 24
    horizon: int = 24
    batch: int = 32
    eps: float = 0.25
    prefs: np.ndarray = field(default_factory=lambda: np.array([1.0, -0.5, 0.2, 0.0], dtype=np.float32))


class ColourRing:
    def __init__(self, cfg, rng):
        self.cfg, self.rng = cfg, rng
        self.paint = rng.integers(0, cfg.colours, cfg.cells)

    def reset(self):
        self.at = int(self.rng.integers(self.cfg.cells))
        return self.at

    def step(self, a):
        self.at = (self.at + (a - 1)) % self.cfg.cells
        return self.at, np.eye(self.cfg.colours, dtype=np.float32)[self.paint[self.at]]


class SuccessorNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.cells, 32)
        self.hidden = nn.Linear(32, 64)
        self.heads = nn.ModuleList(nn.Linear(64, cfg.colours) for _ in range(3))

    def forward(self, cell):
        h = torch.tanh(self.hidden(self.embed(cell)))
        return torch.stack([head(h) for head in self.heads], dim=1)


class Agent:
    def __init__(self, cfg, rng):
        self.cfg, self.rng = cfg, rng
        self.psi = SuccessorNet(cfg)
        self.w = torch.from_numpy(cfg.prefs)
        self.opt = torch.optim.RMSprop(self.psi.parameters(), lr=cfg.lr)
        self.rows = []

    def act(self, cell):
        if self.rng.random() < self.cfg.eps:
            return int(self.rng.integers(3))
        with torch.no_grad():
            return int((self.psi(torch.tensor([cell])) @ self.w).argmax())

    def bootstrap(self, cell, action):
        rows = self.psi(cell)[torch.arange(len(action)), action]  # <- culprit
        return self.cfg.gamma * rows  # <- culprit

    def learn(self):
        pick = self.rng.integers(0, len(self.rows), self.cfg.batch)
        s, a, phi, s2, a2 = (np.array([self.rows[i][k] for i in pick]) for k in range(5))
        s, a, phi, s2, a2 = map(torch.from_numpy, (s, a, phi, s2, a2))
        now = self.psi(s)[torch.arange(len(a)), a]
        delta = phi + self.bootstrap(s2, a2) - now  # <- culprit
        loss = 0.5 * torch.einsum("bd,bd->b", delta, delta).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def main():
    cfg = Config()
    rng = np.random.default_rng(cfg.seed)
    torch.manual_seed(cfg.seed)
    env, agent = ColourRing(cfg, rng), Agent(cfg, rng)
    for ep in range(cfg.episodes):
        s = env.reset()
        a = agent.act(s)
        total, losses = 0.0, [0.0]
        for _ in range(cfg.horizon):
            s2, phi = env.step(a)
            a2 = agent.act(s2)
            agent.rows.append((s, a, phi, s2, a2))
            total += float(phi @ cfg.prefs)
            s, a = s2, a2
            if len(agent.rows) > cfg.batch:
                losses.append(agent.learn())
        if ep % 6 == 5:
            print(f"ep {ep:2d} return {total:+.2f} sf-loss {np.mean(losses):.4f}")


if __name__ == "__main__":
    main()
