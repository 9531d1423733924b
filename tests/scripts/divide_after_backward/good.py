from dataclasses import dataclass

import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


@dataclass
class WorkerConfig:
    mini_batch: int = 96
    micro_batch: int = 16
    epochs: int = 2
    clip: float = 0.2
    entropy_coef: float = 0.005
    lr: float = 0.15


class SlateEnv:
    """Recommend one of six items to users with hidden taste; taste shows in the features."""

    def __init__(self, users=192, seed=4):
        self.g, self.users = torch.Generator().manual_seed(seed), users
        self.items = torch.randn(8, 6, generator=self.g)

    def batch(self):
        return torch.randn(self.users, 8, generator=self.g)

    def reward(self, x, a):
        score = (x @ self.items).gather(1, a[:, None]).squeeze(1)
        return torch.sigmoid(score)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 40), nn.Tanh(), nn.Linear(40, 6))

    def forward(self, x):
        return Categorical(logits=self.body(x))


def average(metrics):
    return {k: sum(m[k] for m in metrics) / len(metrics) for k in metrics[0]}


class ActorWorker:
    def __init__(self, cfg):
        self.cfg, self.actor = cfg, Actor()
        self.optimizer = torch.optim.SGD(self.actor.parameters(), lr=cfg.lr)

    @torch.no_grad()
    def generate(self, x):
        dist = self.actor(x)
        a = dist.sample()
        return a, dist.log_prob(a)

    def policy_loss(self, data):
        dist = self.actor(data["x"])
        ratio = torch.exp(dist.log_prob(data["a"]) - data["logp"])
        clipped = ratio.clamp(1 - self.cfg.clip, 1 + self.cfg.clip)
        pg = -torch.min(ratio * data["adv"], clipped * data["adv"]).mean()
        return pg - self.cfg.entropy_coef * dist.entropy().mean()

    def update_policy(self, data):
        metrics = []
        for _ in range(self.cfg.epochs):
            for idx in torch.randperm(len(data["a"])).split(self.cfg.mini_batch):
                micros = idx.split(self.cfg.micro_batch)
                self.optimizer.zero_grad()
                total = 0.0
                for m in micros:
                    loss = self.policy_loss({k: v[m] for k, v in data.items()})
                    loss = loss / len(micros)
                    loss.backward()
                    total += loss.item()
                norm = torch.stack([p.grad.norm() for p in self.actor.parameters()]).norm()
                self.optimizer.step()
                metrics.append({"loss": total, "grad_norm": norm.item()})
        return average(metrics)


def main():
    torch.manual_seed(4)
    env, worker = SlateEnv(), ActorWorker(WorkerConfig())
    for it in range(12):
        x = env.batch()
        a, logp = worker.generate(x)
        r = env.reward(x, a)
        adv = (r - r.mean()) / (r.std() + 1e-6)
        m = worker.update_policy({"x": x, "a": a, "logp": logp, "adv": adv})
        if it % 3 == 0:
            print(f"iter {it} reward {r.mean():.3f} loss {m['loss']:+.4f} grad norm {m['grad_norm']:.3f}")


if __name__ == "__main__":
    main()
