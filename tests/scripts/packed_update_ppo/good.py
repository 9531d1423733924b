import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
VOCAB, D, MAXLEN = 11, 32, 12


class PolicyLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, D)
        self.wpe = nn.Embedding(MAXLEN, D)
        self.ln = nn.LayerNorm(D)
        self.attn = nn.Linear(D, 3 * D)
        self.proj = nn.Linear(D, D)
        self.mlp = nn.Sequential(nn.LayerNorm(D), nn.Linear(D, 64), nn.GELU(), nn.Linear(64, D))
        self.head = nn.Linear(D, VOCAB)

    def forward(self, ids, position_ids, mask):
        x = self.wte(ids) + self.wpe(position_ids)
        q, k, v = self.attn(self.ln(x)).chunk(3, -1)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
        return self.head(x + self.mlp(x))


def causal(t):
    return torch.ones(t, t, dtype=torch.bool).tril()


@torch.no_grad()
def generate(model, n):
    """Responses of different length, one at a time per length bucket."""
    rows, logps = [], []
    for length in (4, 6, 9):
        ids = torch.randint(1, VOCAB, (n // 3, 2))
        lp = []
        for _ in range(length):
            t = ids.shape[1]
            logits = model(ids, torch.arange(t).expand_as(ids), causal(t))[:, -1]
            dist = torch.distributions.Categorical(logits=logits)
            tok = dist.sample()
            lp.append(dist.log_prob(tok))
            ids = torch.cat([ids, tok[:, None]], 1)
        rows += list(ids)
        logps += list(torch.stack(lp, 1))
    return rows, logps


def reward_of(row):
    return (row[2:] % 2 == 0).float().mean()


def pack(rows, logps, advs, per_row):
    """Concatenate sequences; returns ids, positions, segment numbers and aligned targets."""
    batches = []
    order = torch.randperm(len(rows)).tolist()
    for i in range(0, len(order), per_row):
        pick = order[i:i + per_row]
        ids = torch.cat([rows[j] for j in pick])
        pos = torch.cat([torch.arange(len(rows[j])) for j in pick])
        seg = torch.cat([torch.full((len(rows[j]),), s) for s, j in enumerate(pick)])
        old = torch.cat([F.pad(logps[j], (2, 0)) for j in pick])
        adv = torch.cat([advs[j].expand(len(rows[j])) for j in pick])
        batches.append((ids, pos, seg, old, adv, pos >= 2))
    return batches


def packed_logps(model, ids, pos, seg):
    mask = causal(len(ids)) & (seg[:, None] == seg[None, :])
    logits = model(ids[None], pos[None], mask)[0]
    lp = F.log_softmax(logits[:-1], -1).gather(-1, ids[1:, None]).squeeze(-1)
    return F.pad(lp, (1, 0))


def main():
    torch.manual_seed(0)
    model = PolicyLM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    for it in range(12):
        rows, logps = generate(model, 24)
        rewards = torch.stack([reward_of(r) for r in rows])
        advs = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
        for epoch in range(2):
            for ids, pos, seg, old, adv, keep in pack(rows, logps, advs, per_row=6):
                lp = packed_logps(model, ids, pos, seg)
                ratio = torch.exp((lp - old)[keep])
                a = adv[keep]
                loss = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
        if it % 3 == 2:
            print(f"iter {it + 1} reward {rewards.mean():.3f} loss {loss.item():+.4f}")


if __name__ == "__main__":
    main()
