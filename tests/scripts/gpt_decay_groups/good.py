"""Leave-one-out policy gradient for a small causal transformer that must emit ascending tokens."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
VOCAB, DIM, CTX = 10, 24, 7


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        att = q @ k.transpose(1, 2) / math.sqrt(DIM)
        causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        att = att.masked_fill(~causal, float("-inf")).softmax(-1)
        return self.proj(att @ v)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(DIM), Attention()
        self.ln_2 = nn.LayerNorm(DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, 2 * DIM), nn.GELU(), nn.Linear(2 * DIM, DIM))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, DIM)
        self.wpe = nn.Embedding(CTX, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(depth))
        self.ln_f = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))

    def configure_optimizer(self, lr, weight_decay):
        named = dict(self.named_parameters())
        decay = [p for n, p in named.items() if p.dim() >= 2]
        no_decay = [p for n, p in named.items() if p.dim() < 2]
        groups = [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))


@torch.no_grad()
def generate(model, n):
    ids = torch.randint(0, VOCAB, (n, 1))
    while ids.shape[1] < CTX:
        probs = model(ids)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
    return ids


def ascending(ids):
    return (ids[:, 1:] > ids[:, :-1]).float().mean(1)


def token_logps(model, ids):
    return model(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)


def main(steps=80, n=64):
    torch.manual_seed(1)
    model = GPT()
    optimizer = model.configure_optimizer(lr=2e-3, weight_decay=0.01)
    for step in range(steps):
        ids = generate(model, n)
        reward = ascending(ids)
        loo = (reward.sum() - reward) / (n - 1)
        loss = -((reward - loo) * token_logps(model, ids).sum(1)).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        if step % 20 == 0 or step == steps - 1:
            print(f"step {step:3d} reward {reward.mean().item():.3f} loss {loss.item():+.4f}")


if __name__ == "__main__":
    main()
