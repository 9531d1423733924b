import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
V, T = 12, 6


class TinyTransformer(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, d), nn.Embedding(T + 1, d)
        self.n1, self.n2, self.nf = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down, self.head = nn.Linear(d, 2 * d), nn.Linear(2 * d, d), nn.Linear(d, V)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1)))
        q, k, v = self.qkv(self.n1(x)).chunk(3, -1)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        x = x + self.down(F.gelu(self.up(self.n2(x))))
        return F.log_softmax(self.head(self.nf(x)), -1)


def token_logp(logp, ids):
    return logp.gather(2, ids[:, 1:, None]).squeeze(2)


@torch.no_grad()
def complete(model, n):
    ids = torch.randint(0, V, (n, 1))
    for _ in range(T):
        ids = torch.cat([ids, torch.multinomial(model(ids)[:, -1].exp(), 1)], 1)
    return ids, token_logp(model(ids[:, :-1]), ids)


def main(iters=20, warmup=8, beta=0.05):
    torch.manual_seed(6)
    policy = TinyTransformer()
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=2e-3, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, s / warmup))
    for it in range(iters):
        ids, old = complete(policy, 48)
        reward = (ids[:, 1:] % 3 == 0).float().mean(1)
        adv = ((reward - reward.mean()) / (reward.std() + 1e-6))[:, None]
        for _ in range(2):
            logp = token_logp(policy(ids[:, :-1]), ids)
            with torch.no_grad():
                ref = token_logp(reference(ids[:, :-1]), ids)
            ratio = (logp - old).exp()
            pg = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            gap = ref - logp
            kl = (gap.exp() - gap - 1).mean()
            loss = pg + beta * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        if it % 4 == 0:
            print(f"iter {it} reward {reward.mean():.3f} kl {kl.item():.4f} lr {scheduler.get_last_lr()[0]:.1e}")


if __name__ == "__main__":
    main()
