import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
V, L = 8, 6


class Seq(nn.Module):
    def __init__(self, out, d=32):
        super().__init__()
        self.emb = nn.Embedding(V + 1, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, out)

    def forward(self, ids):
        return self.head(self.rnn(self.emb(ids))[0])


def quality(ids):
    return (ids[:, 1:] > ids[:, :-1]).float().sum(1)


def sequence_logp(lm, ids):
    start = torch.full_like(ids[:, :1], V)
    lp = lm(torch.cat([start, ids[:, :-1]], 1)).log_softmax(-1)
    return lp.gather(-1, ids.unsqueeze(-1)).squeeze(-1).sum(1)


def preference_batch(n):
    a, b = torch.randint(0, V, (2, n, L))
    keep = quality(a) != quality(b)
    a, b = a[keep], b[keep]
    better = (quality(a) > quality(b))[:, None]
    return torch.where(better, a, b), torch.where(better, b, a)


def train_reward_model(steps):
    rm = Seq(1)
    opt = torch.optim.Adam(rm.parameters(), lr=5e-3)
    for k in range(steps):
        chosen, rejected = preference_batch(64)
        margin = rm(chosen)[:, -1, 0] - rm(rejected)[:, -1, 0]
        loss = -F.logsigmoid(margin).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if k % 40 == 39:
            print(f"reward model {k} loss {loss.item():.3f} accuracy {(margin > 0).float().mean():.3f}")
    return rm.requires_grad_(False)


def train_dpo(rm, steps, beta=0.2):
    policy = Seq(V)
    reference = copy.deepcopy(policy).requires_grad_(False)
    opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for k in range(steps):
        pair = torch.randint(0, V, (2, 48, L))
        score = torch.stack([rm(x)[:, -1, 0] for x in pair])
        first = (score[0] > score[1])[:, None]
        chosen, rejected = torch.where(first, pair[0], pair[1]), torch.where(first, pair[1], pair[0])
        with torch.no_grad():
            base = sequence_logp(reference, chosen) - sequence_logp(reference, rejected)
        live = sequence_logp(policy, chosen) - sequence_logp(policy, rejected)
        loss = -F.logsigmoid(beta * (live - base)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if k % 30 == 29:
            print(f"dpo {k} loss {loss.item():.3f} margin {(live - base).mean().item():+.3f}")


if __name__ == "__main__":
    torch.manual_seed(151)
    train_dpo(train_reward_model(120), 120)
