# offline BC + inverse dynamics, maze data
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


@dataclass
class Config:
    size: int = 6
    n_transitions: int = 480
    batch: int = 48
    epochs: int = 3
    lr: float = 3e-3
    weight_decay: float = 0.0
    seed: int = 11


MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


def make_dataset(cfg):
    pos = torch.randint(0, cfg.size, (cfg.n_transitions, 2))
    goal = torch.randint(0, cfg.size, (cfg.n_transitions, 2))
    diff = goal - pos
    vertical = diff[:, 0].abs() >= diff[:, 1].abs()
    act = torch.where(vertical, torch.where(diff[:, 0] > 0, 2, 3), torch.where(diff[:, 1] > 0, 0, 1))
    rand = torch.rand(cfg.n_transitions) < 0.1
    act = torch.where(rand, torch.randint(0, 4, act.shape), act)
    nxt = (pos + MOVES[act]).clamp(0, cfg.size - 1)
    scale = cfg.size - 1
    return TensorDataset(torch.cat([pos, goal], 1) / scale, act, torch.cat([nxt, goal], 1) / scale)


class Representation(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, d), nn.GELU(), nn.Linear(d, d), nn.LayerNorm(d))

    def forward(self, x):
        return self.net(x)


class BCAgent(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.repr = Representation(d)
        self.policy = nn.Linear(d, 4)
        self.inverse = nn.Sequential(nn.Linear(2 * d, 32), nn.GELU(), nn.Linear(32, 4))

    def logits(self, s):
        return self.policy(self.repr(s))

    def inverse_logits(self, s, s2):
        return self.inverse(torch.cat([self.repr(s), self.repr(s2)], -1))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.agent = BCAgent()
        self.optim = torch.optim.AdamW(self.agent.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)

    def training_step(self, batch):
        s, a, s2 = batch
        bc = F.cross_entropy(self.agent.logits(s), a)
        losses = {"bc": bc}
        # losses["inv"] = 0.1 * F.cross_entropy(self.agent.inverse_logits(s, s2), a)   # TODO debug NaN
        return losses

    def fit(self):
        loader = DataLoader(make_dataset(self.cfg), batch_size=self.cfg.batch, shuffle=True)
        for epoch in range(self.cfg.epochs):
            acc = 0.0
            for batch in loader:
                losses = self.training_step(batch)
                self.optim.zero_grad(set_to_none=True)
                sum(losses.values()).backward()  # <- culprit
                self.optim.step()
                acc += losses["bc"].item() / len(loader)
            print(f"epoch {epoch} bc {acc:.4f}")


if __name__ == "__main__":
    cfg = Config()
    torch.manual_seed(cfg.seed)
    Trainer(cfg).fit()
