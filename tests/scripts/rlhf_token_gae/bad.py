import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
VOCAB, PROMPT, GEN, BATCH = 12, 3, 6, 24


class Block(nn.Module):
    def __init__(self, d, heads=2):
        super().__init__()
        self.h = heads
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.h, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.ln2(x))


class PolicyWithValue(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Embedding(PROMPT + GEN, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(2))
        self.lm_head = nn.Linear(d, VOCAB)
        self.v_head = nn.Linear(d, 1)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for blk in self.blocks:
            x = blk(x)
        return self.lm_head(x), self.v_head(x).squeeze(-1)

    def score(self, ids):
        """log-probabilities, values and entropies of the generated part"""
        logits, values = self(ids[:, :-1])
        logp = logits[:, PROMPT - 1:].log_softmax(-1)
        taken = logp.gather(-1, ids[:, PROMPT:, None]).squeeze(-1)
        return taken, values[:, PROMPT - 1:], -(logp.exp() * logp).sum(-1)


@torch.no_grad()
def generate(model, prompts):
    ids = prompts
    for _ in range(GEN):
        nxt = torch.distributions.Categorical(logits=model(ids)[0][:, -1]).sample()
        ids = torch.cat([ids, nxt[:, None]], 1)
    return ids


def reward_fn(ids):
    """one point for every generated token that continues the count"""
    return (ids[:, PROMPT:] == (ids[:, PROMPT - 1:-1] + 1) % VOCAB).float()


def gae(rewards, values, gamma=0.98, lam=0.9):
    nxt = torch.cat([values[:, 1:], torch.zeros_like(values[:, :1])], 1)
    delta = rewards + gamma * nxt - values
    adv, run = [], 0.0
    for t in reversed(range(GEN)):
        run = delta[:, t] + gamma * lam * run
        adv.append(run)
    return torch.stack(adv[::-1], 1)


def main():
    torch.manual_seed(4)
    model = PolicyWithValue()
    ref = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for it in range(30):
        ids = generate(model, torch.randint(0, VOCAB, (BATCH, PROMPT)))
        with torch.no_grad():
            old_logp = model.score(ids)[0]
            ref_logp = ref.score(ids)[0]
        rewards = reward_fn(ids) - 0.02 * (old_logp - ref_logp)
        for epoch in range(2):
            logp, values, entropy = model.score(ids)
            adv = gae(rewards, values)
            returns = (adv + values).detach()
            ratio = (logp - old_logp).exp()
            pg = torch.max(-adv * ratio, -adv * ratio.clamp(0.8, 1.2)).mean()  # <- culprit
            vf = 0.5 * (values - returns).square().mean()
            opt.zero_grad()
            (pg + 0.5 * vf - 0.01 * entropy.mean()).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
        if it % 6 == 5:
            print(f"it {it} reward {rewards.sum(1).mean():.3f} vf {vf.item():.3f} ppl {math.exp(-logp.mean().item()):.2f}")


if __name__ == "__main__":
    main()
