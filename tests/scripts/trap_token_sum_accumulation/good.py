"""Sequence policy (GRU) trained by REINFORCE with micro-batches of different lengths, token-mean over the whole batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(111)
torch.set_num_threads(1)
VOCAB, BOS = 8, 7


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 24)
        self.gru = nn.GRU(24, 48, batch_first=True)
        self.out = nn.Linear(48, VOCAB - 1)

    def forward(self, tokens, h=None):
        y, h = self.gru(self.emb(tokens), h)
        return self.out(y), h


@torch.no_grad()
def sample(lm, n, length):
    tok, h, out = torch.full((n, 1), BOS), None, []
    for _ in range(length):
        logits, h = lm(tok, h)
        tok = torch.multinomial(F.softmax(logits[:, -1], -1), 1)
        out.append(tok)
    return torch.cat(out, 1)


def reward(seq):  # fraction of tokens that continue an ascending cycle
    return ((seq[:, 1:] - seq[:, :-1]) % 7 == 1).float().mean(1)


lm = LM()
opt = torch.optim.Adam(lm.parameters(), lr=4e-3)
curve = []
for it in range(70):
    seqs, scores = [], []
    for length in (4, 6, 8, 10):
        s = sample(lm, 16, length)
        r = reward(s)
        seqs += list(s)
        scores.append(r - r.mean())
        curve.append(r.mean().item())
    adv = torch.cat(scores)
    order = torch.randperm(len(seqs)).tolist()
    total_tokens = sum(len(s) for s in seqs)
    opt.zero_grad()
    for micro in (order[i : i + 16] for i in range(0, len(order), 16)):
        tgt = pad_sequence([seqs[i] for i in micro], batch_first=True, padding_value=-100)
        inp = torch.cat([torch.full((len(micro), 1), BOS), tgt[:, :-1].clamp(min=0)], 1)
        logits, _ = lm(inp)
        nll = F.cross_entropy(logits.transpose(1, 2), tgt, ignore_index=-100, reduction="none")
        loss = (nll * adv[micro, None]).sum()
        loss.backward()
    for p in lm.parameters():
        p.grad.div_(total_tokens)
    nn.utils.clip_grad_norm_(lm.parameters(), 1.0)
    opt.step()
print("reward %.3f -> %.3f" % (sum(curve[:8]) / 8, sum(curve[-8:]) / 8))
