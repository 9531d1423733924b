import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
DIGITS = 10
PLUS, EQ, VOCAB = 10, 11, 12


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x):
        att = self.q(x) @ self.k(x).transpose(1, 2) / x.size(-1) ** 0.5
        keep = torch.ones(x.size(1), x.size(1)).tril().bool()
        return self.o(att.masked_fill(~keep, -1e9).softmax(-1) @ self.v(x))


class Model(nn.Module):
    def __init__(self, d=32, depth=2, ctx=10):
        super().__init__()
        self.emb, self.pos = nn.Embedding(VOCAB, d), nn.Embedding(ctx, d)
        self.att = nn.ModuleList(Attention(d) for _ in range(depth))
        self.ffn = nn.ModuleList(nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(2 * depth + 1))
        self.head = nn.Linear(d, VOCAB)
        nn.init.normal_(self.head.weight, std=0.2)

    def forward(self, ids):
        x = self.emb(ids) + self.pos(torch.arange(ids.size(1)))
        for i, (att, ffn) in enumerate(zip(self.att, self.ffn)):
            x = x + att(self.norms[2 * i](x))
            x = x + ffn(self.norms[2 * i + 1](x))
        return self.head(self.norms[-1](x))


class Sampler:
    def __init__(self, model, temperature=0.7, new_tokens=3):
        self.model, self.temperature, self.new_tokens = model, temperature, new_tokens

    @torch.no_grad()
    def __call__(self, prompts):
        ids, logps = prompts, []
        for _ in range(self.new_tokens):
            logp = torch.log_softmax(self.model(ids)[:, -1] / self.temperature, dim=-1)
            nxt = torch.distributions.Categorical(logits=logp).sample()
            logps.append(logp[torch.arange(len(nxt)), nxt])
            ids = torch.cat([ids, nxt.unsqueeze(1)], dim=1)
        return ids, torch.stack(logps, dim=1)


def prompts(n):
    a, b = torch.randint(0, 5, (2, n))
    ids = torch.stack([a, torch.full_like(a, PLUS), b, torch.full_like(a, EQ)], 1)
    return ids, a + b


def score(completion, answer):
    exact = (completion[:, 0] == answer).float()
    digits = (completion < DIGITS).float().mean(1)
    return exact + 0.3 * digits


def per_token_logps(model, ids, n_new, temperature):
    logits = model(ids[:, :-1])[:, -n_new:]
    logits = logits / temperature
    return F.log_softmax(logits, -1).gather(-1, ids[:, -n_new:].unsqueeze(-1)).squeeze(-1)


def main(iters=16, groups=8, k=6, eps=0.2):
    torch.manual_seed(12)
    model = Model()
    sampler = Sampler(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.0)
    for it in range(iters):
        base, answer = prompts(groups)
        ids, old = sampler(base.repeat_interleave(k, 0))
        reward = score(ids[:, 4:], answer.repeat_interleave(k))
        grouped = reward.view(groups, k)
        adv = (grouped - grouped.mean(1, keepdim=True)).div(grouped.std(1, keepdim=True) + 1e-4).view(-1, 1)
        for inner in range(2):
            new = per_token_logps(model, ids, sampler.new_tokens, sampler.temperature)
            ratio = torch.exp(new - old)
            loss = -torch.minimum(ratio * adv, ratio.clamp(1 - eps, 1 + eps) * adv).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        if it % 4 == 0:
            print(f"iter {it} reward {reward.mean():.3f} loss {loss.item():+.4f}")


if __name__ == "__main__":
    main()
