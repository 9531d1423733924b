from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


@dataclass
class JobConfig:
    steps: int = 60
    batch: int = 48
    length: int = 6
    vocab: int = 10
    dim: int = 32
    lr: float = 0.05
    max_norm: float = 0.3
    optim_in_backward: bool = False


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        return x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))


class LM(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok = nn.Embedding(c.vocab, c.dim)
        self.pos = nn.Embedding(c.length + 1, c.dim)
        self.blocks = nn.ModuleList(Block(c.dim) for _ in range(2))
        self.out = nn.Linear(c.dim, c.vocab)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for b in self.blocks:
            x = b(x)
        return self.out(x)


class OptimizersInBackward:
    """One optimizer per parameter, run as soon as its gradient is ready."""

    def __init__(self, model, lr):
        self.table = {p: torch.optim.SGD([p], lr=lr) for p in model.parameters()}

        def run(p):
            self.table[p].step()
            self.table[p].zero_grad()

        for p in model.parameters():
            p.register_post_accumulate_grad_hook(run)

    def step(self):
        pass

    def zero_grad(self):
        pass


def build_optimizer(model, c):
    if c.optim_in_backward:
        return OptimizersInBackward(model, c.lr)
    return torch.optim.SGD(model.parameters(), lr=c.lr)


@torch.no_grad()
def rollout(model, c):
    ids = torch.zeros(c.batch, 1, dtype=torch.long)
    for _ in range(c.length):
        ids = torch.cat([ids, torch.multinomial(F.softmax(model(ids)[:, -1], -1), 1)], 1)
    return ids


def reward_fn(ids):
    comp = ids[:, 1:]
    return 4.0 * ((comp[:, 1:] > comp[:, :-1]).float().mean(1))


def train(c):
    torch.manual_seed(1)
    model = LM(c)
    optimizer = build_optimizer(model, c)
    for step in range(c.steps):
        ids = rollout(model, c)
        reward = reward_fn(ids)
        adv = reward - reward.mean()
        logp = F.log_softmax(model(ids[:, :-1]), -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
        loss = -(adv * logp.sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), c.max_norm)
        optimizer.step()
        if step % 12 == 0:
            print(f"step {step} reward {reward.mean():.3f} loss {loss.item():+.3f}")


if __name__ == "__main__":
    train(JobConfig())
