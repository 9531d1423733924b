import copy

import torch
import torch.nn as nn

torch.set_num_threads(1)
V, L, GROUP, PROMPTS = 10, 6, 8, 5


class Decoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, d), nn.Embedding(L + 2, d)
        layer = nn.TransformerEncoderLayer(d, 2, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.stack = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(d, V)

    def forward(self, ids):
        t = ids.shape[1]
        mask = torch.triu(torch.full((t, t), float("-inf")), 1)
        return self.out(self.stack(self.tok(ids) + self.pos(torch.arange(t)), mask=mask))


@torch.no_grad()
def complete(model, prompt):
    ids = prompt
    for _ in range(L):
        p = model(ids)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(p, 1)], 1)
    return ids


def logps(model, ids):
    lp = model(ids[:, :-1]).log_softmax(-1)[:, 1:]
    return lp.gather(-1, ids[:, 2:, None]).squeeze(-1)


def score(ids):
    """tokens equal to the sum of the two prompt tokens"""
    want = (ids[:, :1] + ids[:, 1:2]) % V
    return (ids[:, 2:] == want).float().mean(1)


def main():
    torch.manual_seed(121)
    policy = Decoder()
    reference = copy.deepcopy(policy).requires_grad_(False)
    opt = torch.optim.AdamW(policy.parameters(), lr=3e-3, weight_decay=0.0)
    for it in range(50):
        prompt = torch.randint(0, 3, (PROMPTS, 2)).repeat_interleave(GROUP, 0)
        ids = complete(policy, prompt)
        r = score(ids).view(PROMPTS, GROUP)
        adv = ((r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + 1e-4)).flatten()
        lp = logps(policy, ids)
        with torch.no_grad():
            ref = logps(reference, ids)
        ratio = torch.exp(lp - lp.detach())
        kl = torch.exp(ref - lp) - (ref - lp) - 1
        loss = -(ratio * adv[:, None] - 0.01 * kl).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        opt.step()
        if it % 10 == 9:
            print(f"it {it} score {r.mean():.3f} loss {loss.item():+.5f} kl {kl.mean().item():.4f}")


if __name__ == "__main__":
    main()
