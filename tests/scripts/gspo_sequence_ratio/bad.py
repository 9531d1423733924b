import argparse
import copy

import torch
import torch.nn as nn

torch.set_num_threads(1)
BOS, VOCAB = 0, 9


class TinyLM(nn.Module):
    def __init__(self, d=40):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids, h=None):
        y, h = self.rnn(self.emb(ids), h)
        return self.head(y), h


def sequence_logp(model, completions):
    """sum of token log-probabilities of each completion"""
    inp = torch.cat([torch.full_like(completions[:, :1], BOS), completions[:, :-1]], 1)
    logits, _ = model(inp)
    return torch.log_softmax(logits, -1).gather(-1, completions.unsqueeze(-1)).squeeze(-1).sum(1)


@torch.no_grad()
def sample(model, n, length):
    tok, h, out = torch.full((n, 1), BOS), None, []
    for _ in range(length):
        logits, h = model(tok, h)
        tok = torch.multinomial(logits[:, -1].softmax(-1), 1)
        out.append(tok)
    return torch.cat(out, 1)


def judge(completions):
    """longest run of non-decreasing tokens, scaled to [0, 1]"""
    up = (completions[:, 1:] >= completions[:, :-1]).long()
    run, best = torch.zeros(len(up), dtype=torch.long), torch.zeros(len(up), dtype=torch.long)
    for t in range(up.shape[1]):
        run = (run + 1) * up[:, t]
        best = torch.maximum(best, run)
    return best.float() / up.shape[1]


class Trainer:
    def __init__(self, args):
        self.args = args
        self.policy = TinyLM()
        self.reference = copy.deepcopy(self.policy).eval().requires_grad_(False)
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=args.lr)

    def advantages(self, scores):
        g = scores.view(-1, self.args.group)
        return ((g - g.mean(1, keepdim=True)) / (g.std(1, keepdim=True) + 1e-4)).flatten()

    def step(self):
        a = self.args
        completions = sample(self.policy, a.prompts * a.group, a.length)
        scores = judge(completions)
        adv = self.advantages(scores)
        old = sequence_logp(self.policy, completions)  # <- culprit
        with torch.no_grad():
            ref = sequence_logp(self.reference, completions)
        new = sequence_logp(self.policy, completions)
        ratio = torch.exp((new - old) / a.length)  # <- culprit
        surrogate = torch.min(ratio * adv, ratio.clamp(1 - a.clip, 1 + a.clip) * adv)
        gap = (ref - new) / a.length
        kl = torch.exp(gap) - gap - 1
        loss = (-surrogate + a.kl * kl).mean()
        self.opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
        self.opt.step()
        return scores.mean().item(), kl.mean().item()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--group", type=int, default=8)
    ap.add_argument("--prompts", type=int, default=6)
    ap.add_argument("--length", type=int, default=7)
    ap.add_argument("--clip", type=float, default=0.2)
    ap.add_argument("--kl", type=float, default=0.02)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--iters", type=int, default=60)
    args = ap.parse_args()
    torch.manual_seed(1)
    trainer = Trainer(args)
    for i in range(args.iters):
        score, kl = trainer.step()
        if i % 12 == 11:
            print(f"iter {i} score {score:.3f} kl {kl:.5f}")
