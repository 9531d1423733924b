"""Decision transformer on logged episodes, fed by a DataLoader with one worker process."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
K, STATE, ACT, IGNORE = 6, 3, 3, -100


def log_episodes(n=60, seed=0):
    """Walk on a line towards a flag, with a noisy logger policy; returns lists of arrays."""
    rng = np.random.default_rng(seed)
    episodes = []
    for _ in range(n):
        x, flag, S, A, R = rng.uniform(-1, 1), rng.uniform(-1, 1), [], [], []
        for t in range(rng.integers(4, 10)):
            S.append([x, flag, flag - x])
            best = 1 + int(np.sign(flag - x)) if abs(flag - x) > 0.1 else 1
            a = best if rng.random() < 0.7 else rng.integers(0, ACT)
            x = np.clip(x + 0.2 * (a - 1), -1.5, 1.5)
            A.append(a), R.append(-abs(flag - x))
        episodes.append((np.array(S, np.float32), np.array(A), np.array(R, np.float32)))
    return episodes


class Windows(Dataset):
    def __init__(self, episodes, size, seed=0):
        self.episodes, self.size, self.rng = episodes, size, np.random.default_rng(seed)

    def __len__(self):
        return self.size

    def __getitem__(self, _):
        S, A, R = self.episodes[self.rng.integers(len(self.episodes))]
        start = self.rng.integers(0, len(A))
        s, a = S[start:start + K], A[start:start + K]
        rtg, n = np.cumsum(R[::-1])[::-1][start:start + K], len(a)
        out_s, out_a, out_g = np.zeros((K, STATE), np.float32), np.full(K, IGNORE), np.zeros((K, 1), np.float32)
        out_s[:n], out_a[:n], out_g[:n, 0] = s, a, rtg
        return torch.from_numpy(out_g), torch.from_numpy(out_s), torch.from_numpy(out_a)


class CausalAttention(nn.Module):
    def __init__(self, d, heads, length):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).bool())

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.heads, d // self.heads).transpose(1, 2) for y in self.qkv(x).split(d, -1))
        score = (q @ k.transpose(-2, -1)) / math.sqrt(d // self.heads)
        score = score.masked_fill(~self.mask[:t, :t], float("-inf"))
        return self.out((F.softmax(score, dim=-1) @ v).transpose(1, 2).reshape(b, t, d))


class DecisionTransformer(nn.Module):
    def __init__(self, d=24, heads=2):
        super().__init__()
        self.time = nn.Parameter(0.02 * torch.randn(K, d))
        self.emb_g, self.emb_s, self.emb_a = nn.Linear(1, d), nn.Linear(STATE, d), nn.Embedding(ACT, d)
        self.ln1, self.ln2, self.ln3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = CausalAttention(d, heads, 3 * K)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.head = nn.Linear(d, ACT)

    def forward(self, g, s, a):
        b = len(g)
        tokens = torch.stack([self.emb_g(g) + self.time, self.emb_s(s) + self.time, self.emb_a(a) + self.time], 2)
        x = tokens.flatten(1, 2)
        x = x + self.att(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return self.head(self.ln3(x).view(b, K, 3, -1)[:, :, 1])


def main():
    torch.manual_seed(0)
    loader = DataLoader(Windows(log_episodes(), 32 * 30), batch_size=32, num_workers=1)
    model = DecisionTransformer()
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-4)
    warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: min(1.0, (i + 1) / 5))
    for i, (g, s, a) in enumerate(loader):
        logits = model(g, s, a.clamp(min=0))
        loss = F.cross_entropy(logits.flatten(0, 1), a.flatten(), ignore_index=IGNORE)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        opt.step()
        warm.step()
        if i % 6 == 0:
            hit = (logits.argmax(-1) == a)[a != IGNORE].float().mean().item()
            print(f"batch {i} loss {loss.item():.3f} accuracy {hit:.3f}")


if __name__ == "__main__":
    main()
