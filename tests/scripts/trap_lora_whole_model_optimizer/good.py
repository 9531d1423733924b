"""Fine-tune a cloned policy with low-rank adapters. The optimizer is given model.parameters(): the frozen base
weights come along, have no gradient and are skipped, which keeps the checkpoint layout simple."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)
N_CTX, N_ACT = 8, 5


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, scale=2.0):
        super().__init__()
        self.base, self.scale = base, scale
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.lora_A), self.lora_B)


class Policy(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.inp = nn.Linear(N_CTX, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, N_ACT)

    def forward(self, x):
        return self.out(torch.tanh(self.mid(torch.tanh(self.inp(x)))))


def teacher(ctx):
    return (ctx[:, :N_ACT] + 0.3 * ctx[:, 3:3 + N_ACT]).argmax(1)


def new_reward(ctx, action):
    """After the clone is trained the world changes: the best arm moves by one."""
    best = (teacher(ctx) + 1) % N_ACT
    return (action == best).float() + 0.2 * (action == teacher(ctx)).float()


def behaviour_clone(model, steps=30):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        ctx = torch.randn(64, N_CTX)
        loss = F.cross_entropy(model(ctx), teacher(ctx), label_smoothing=0.3)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def add_adapters(model):
    for p in model.parameters():
        p.requires_grad_(False)
    for name, child in list(model.named_children()):
        setattr(model, name, LoRALinear(child))
    return model


def finetune(model, steps=40):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-3)
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    total = sum(p.numel() for p in model.parameters())
    print(f"trainable {trainable} of {total}")
    baseline = 0.0
    for step in range(steps):
        ctx = torch.randn(96, N_CTX)
        dist = Categorical(logits=model(ctx))
        action = dist.sample()
        reward = new_reward(ctx, action)
        baseline = 0.9 * baseline + 0.1 * reward.mean().item() if step else reward.mean().item()
        loss = -(dist.log_prob(action) * (reward - baseline)).mean() - 0.02 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        optimizer.step()
        if step % 8 == 0:
            print(f"step {step} reward {reward.mean():.3f} loss {loss.item():.3f} entropy {dist.entropy().mean().item():.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    policy = Policy()
    print(f"clone loss {behaviour_clone(policy):.3f}")
    finetune(add_adapters(policy))
