import copy

import torch
import torch.nn as nn

torch.set_num_threads(1)
V, PROMPT, GEN = 10, 3, 5


class MiniGPT(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, d), nn.Embedding(PROMPT + GEN, d)
        self.ln = nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, 4, dropout=0.1, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 64), nn.GELU(), nn.Linear(64, d))
        self.ln_f = nn.LayerNorm(d)
        self.head = nn.Linear(d, V, bias=False)
        nn.init.normal_(self.wte.weight, std=0.1)
        nn.init.normal_(self.wpe.weight, std=0.1)
        self.head.weight = self.wte.weight

    def forward(self, ids):
        t = ids.shape[1]
        x = self.wte(ids) + self.wpe(torch.arange(t))
        h = self.ln(x)
        mask = torch.full((t, t), float("-inf")).triu(1)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return self.head(self.ln_f(x + self.mlp(x)))


@torch.no_grad()
def sample(model, prompts):
    ids = prompts
    for _ in range(GEN):
        ids = torch.cat([ids, torch.multinomial(model(ids)[:, -1].softmax(-1), 1)], 1)
    return ids


def response_logp(model, ids):
    logits = model(ids[:, :-1])[:, PROMPT - 1 :]
    return -torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, PROMPT:].flatten(), reduction="none").view(-1, GEN)


def token_mask(ids):
    """Everything after (and without) the first stop token 9 is ignored."""
    stop = (ids[:, PROMPT:] == 9).int()
    return ((stop.cumsum(1) - stop) == 0).float()


def micro_batches(n, mask, budget):
    take, used = [], 0
    for i in range(n):
        need = int(mask[i].sum())
        if take and used + need > budget:
            yield torch.tensor(take)
            take, used = [], 0
        take.append(i)
        used += need
    yield torch.tensor(take)


def main(iters=12, groups=6, per_group=6, beta=0.02):
    torch.manual_seed(4)
    policy = MiniGPT().eval()
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    opt = torch.optim.AdamW(policy.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.01)
    for it in range(iters):
        prompts = torch.randint(0, 9, (groups, PROMPT)).repeat_interleave(per_group, 0)
        ids = sample(policy, prompts)
        mask = token_mask(ids)
        reward = ((ids[:, PROMPT:] == prompts[:, :1]).float() * mask).sum(1) + 0.1 * torch.randn(len(ids))
        by_group = reward.view(groups, per_group)
        adv = ((by_group - by_group.mean(1, keepdim=True)) / (by_group.std(1, keepdim=True) + 1e-6)).flatten()
        with torch.no_grad():
            old, ref = response_logp(policy, ids), response_logp(reference, ids)
        for chunk in torch.randperm(len(ids)).chunk(2):
            total_tokens = mask[chunk].sum()
            opt.zero_grad()
            value = 0.0
            for micro in micro_batches(len(chunk), mask[chunk], budget=24):
                rows = chunk[micro]
                logp = response_logp(policy, ids[rows])
                log_ratio = (logp - old[rows]).clamp(-20, 20)
                ratio = log_ratio.exp()
                a = adv[rows].unsqueeze(1)
                pg1, pg2 = -a * ratio, -a * ratio.clamp(0.8, 1.28)
                clipped = torch.maximum(pg1, pg2)
                dual = torch.where(a < 0, torch.min(clipped, -a * 3.0), clipped)
                kl = (ref[rows] - logp).exp() - (ref[rows] - logp) - 1
                loss = ((dual + beta * kl) * mask[rows]).sum() / total_tokens
                loss.backward()
                value += loss.item()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            opt.step()
        if it % 3 == 0:
            print(f"iter {it} reward {reward.mean():.3f} loss {value:+.5f} tokens {int(mask.sum())}")


if __name__ == "__main__":
    main()
