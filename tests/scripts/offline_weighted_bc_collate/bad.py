"""Offline imitation with a learned per-transition confidence (weights trained jointly)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset

torch.set_num_threads(1)

CFG = {"n": 256, "obs": 5, "act": 3, "batch": 32, "epochs": 4, "lr": 2e-3, "reg": 0.1}


class MixedDemos(Dataset):
    def __init__(self, cfg, rng):
        self.obs = rng.normal(size=(cfg["n"], cfg["obs"])).astype(np.float32)
        expert = np.argmax(self.obs[:, : cfg["act"]], 1)
        noise = rng.integers(0, cfg["act"], cfg["n"])
        self.good = rng.random(cfg["n"]) < 0.6
        self.act = np.where(self.good, expert, noise)

    def __len__(self):
        return len(self.obs)

    def __getitem__(self, i):
        return {"obs": torch.from_numpy(self.obs[i]), "act": int(self.act[i])}


def mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Cloner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.policy = mlp([cfg["obs"], 32, cfg["act"]])
        self.confidence = mlp([cfg["obs"] + cfg["act"], 32, 1])
        self.opt = torch.optim.Adam(
            [{"params": self.policy.parameters()}, {"params": self.confidence.parameters(), "lr": 5e-3}], lr=cfg["lr"]
        )

    def annotate(self, item):
        one_hot = F.one_hot(torch.tensor(item["act"]), self.cfg["act"]).float()
        item["w"] = torch.sigmoid(self.confidence(torch.cat([item["obs"], one_hot]))).squeeze()
        return item

    def collate(self, items):
        items = [self.annotate(it) for it in items]
        return {
            "obs": torch.stack([it["obs"] for it in items]),
            "act": torch.tensor([it["act"] for it in items]),
            "w": torch.as_tensor([it["w"] for it in items]),  # <- culprit
        }

    def update(self, batch):
        nll = F.cross_entropy(self.policy(batch["obs"]), batch["act"], reduction="none")
        keep = batch["w"]
        loss = (keep * nll).mean() + self.cfg["reg"] * (1 - keep).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item(), keep.mean().item()


def run(cfg):
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    data = MixedDemos(cfg, rng)
    agent = Cloner(cfg)
    for epoch in range(cfg["epochs"]):
        order = rng.permutation(len(data))
        for lo in range(0, len(data), cfg["batch"]):
            batch = agent.collate([data[i] for i in order[lo : lo + cfg["batch"]]])
            loss, w = agent.update(batch)
        print(f"epoch {epoch} loss {loss:.3f} mean weight {w:.3f}")


run(CFG)
