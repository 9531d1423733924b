import math

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
CONTEXT, N_ACT, D = 8, 4, 32


def logged_trajectories(n=256, seed=0):
    g = torch.Generator().manual_seed(seed)
    obs = torch.randint(0, N_ACT, (n, CONTEXT), generator=g)
    skill = torch.rand(n, 1, generator=g)
    optimal = (obs + 1) % N_ACT
    noise = torch.randint(0, N_ACT, (n, CONTEXT), generator=g)
    act = torch.where(torch.rand(n, CONTEXT, generator=g) < skill, optimal, noise)
    rew = (act == optimal).float()
    rtg = rew.flip(1).cumsum(1).flip(1) / CONTEXT
    return {"obs": obs, "act": act, "rtg": rtg}


class Block(nn.Module):
    def __init__(self, d, heads=2):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.heads = heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.n2(x))


class SequencePolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.obs, self.rtg = nn.Embedding(N_ACT, D), nn.Linear(1, D)
        self.pos = nn.Parameter(torch.zeros(CONTEXT, D))
        self.blocks = nn.ModuleList(Block(D) for _ in range(2))
        self.head = nn.Linear(D, N_ACT)

    def forward(self, obs, rtg):
        x = self.obs(obs) + self.rtg(rtg.unsqueeze(-1)) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def batches(data, size, epochs):
    n = len(data["obs"])
    for _ in range(epochs):
        for idx in torch.randperm(n).split(size):
            yield {k: v[idx] for k, v in data.items()}


def train(accumulate=4, micro=16, epochs=8, peak=2e-3):
    torch.manual_seed(0)
    data, model = logged_trajectories(), SequencePolicy()
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak, weight_decay=1e-4)
    total = epochs * len(data["obs"]) // (micro * accumulate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda u: 0.55 + 0.45 * math.cos(math.pi * u / total))
    running, update = 0.0, 0
    for i, batch in enumerate(batches(data, micro, epochs)):
        optimizer.zero_grad(set_to_none=True)  # <- culprit
        logits = model(batch["obs"], batch["rtg"])
        loss = F.cross_entropy(logits.flatten(0, 1), batch["act"].flatten()) / accumulate
        loss.backward()
        running += loss.item()
        if (i + 1) % accumulate == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            update += 1
            if update % 8 == 0:
                print(f"update {update} loss {running:.4f} lr {schedule.get_last_lr()[0]:.1e}")
            running = 0.0


if __name__ == "__main__":
    train()
