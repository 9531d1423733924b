import itertools
import random

import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class TaskFamily:
    def __init__(self, n_tasks, ctx, arms, generator):
        self.g = generator
        self.tables = [torch.randn(ctx, arms, generator=generator) for _ in range(n_tasks)]
        self.n_tasks, self.ctx = n_tasks, ctx

    def contexts(self, n):
        return torch.randn(n, self.ctx, generator=self.g)

    def reward(self, task, x, arm):
        return (x @ self.tables[task]).gather(1, arm.unsqueeze(1)).squeeze(1)


class Policy(nn.Module):
    def __init__(self, ctx, n_tasks, arms, width=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(ctx, width), nn.Tanh())
        self.heads = nn.ModuleList(nn.Linear(width, arms) for _ in range(n_tasks))

    def forward(self, x, task):
        return Categorical(logits=self.heads[task](self.body(x)))


def flat(grads, params):
    return torch.cat([(torch.zeros_like(p) if g is None else g).reshape(-1) for g, p in zip(grads, params)])


def project(task_grads, rng):
    merged = []
    for i, g in enumerate(task_grads):
        g = g.clone()
        others = [h for j, h in enumerate(task_grads) if j != i]
        rng.shuffle(others)
        for h in others:
            dot = torch.dot(g, h)
            if dot < 0:
                g -= dot / h.dot(h) * h
        merged.append(g)
    return torch.stack(merged).mean(0)


def write_back(params, vector):
    offset = 0
    for p in params:
        n = p.numel()
        chunk = vector[offset:offset + n].view_as(p)
        p.grad = chunk.clone() if p.grad is None else p.grad + chunk
        offset += n


def task_loss(policy, family, task, n=48):
    x = family.contexts(n)
    dist = policy(x, task)
    arm = dist.sample()
    r = family.reward(task, x, arm)
    adv = (r - r.mean()) / (r.std() + 1e-6)
    return -(dist.log_prob(arm) * adv).mean(), r.mean().item()


def train(iterations=40):
    torch.manual_seed(0)
    rng = random.Random(0)
    family = TaskFamily(3, 5, 4, torch.Generator().manual_seed(0))
    policy = Policy(5, 3, 4)
    params = list(policy.parameters())
    optim = torch.optim.SGD(params, lr=0.1)
    history = []
    for it in range(iterations):
        pieces, rewards = [], []
        for task in range(family.n_tasks):
            loss, reward = task_loss(policy, family, task)
            pieces.append(flat(torch.autograd.grad(loss, params, allow_unused=True), params))
            rewards.append(reward)
        conflicts = sum(float(a.dot(b)) < 0 for a, b in itertools.combinations(pieces, 2))
        write_back(params, project(pieces, rng))
        optim.step()  # <- culprit
        history.append(sum(rewards) / len(rewards))
        if it % 10 == 9:
            print(f"iter {it + 1} reward {sum(history[-10:]) / 10:.3f} conflicts {conflicts}")


if __name__ == "__main__":
    train()
