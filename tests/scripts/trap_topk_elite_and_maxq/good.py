import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Sequencer(nn.Module):
    def __init__(self, vocab=6, hid=24):
        super().__init__()
        self.emb = nn.Embedding(vocab + 1, hid)
        self.rnn = nn.GRUCell(hid, hid)
        self.out = nn.Linear(hid, vocab)
        self.hid, self.vocab = hid, vocab

    def sample(self, n, length):
        h = torch.zeros(n, self.hid)
        tok = torch.full((n,), self.vocab)
        toks, lps = [], []
        for _ in range(length):
            h = self.rnn(self.emb(tok), h)
            d = torch.distributions.Categorical(logits=self.out(h))
            tok = d.sample()
            toks.append(tok)
            lps.append(d.log_prob(tok))
        return torch.stack(toks, 1), torch.stack(lps, 1)


def score(seqs):
    """Numpy scoring: number of rises."""
    s = seqs.numpy()
    return np.mean(s[:, 1:] > s[:, :-1], axis=1).astype(np.float32)


class Heads(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(5, 1) for _ in range(k))

    def forward(self, x):
        return torch.cat([h(x) for h in self.heads], 1)


def main():
    torch.manual_seed(0)
    gen, heads = Sequencer(), Heads()
    opt = torch.optim.Adam(gen.parameters(), lr=5e-3)
    hopt = torch.optim.Adam(heads.parameters(), lr=1e-2)
    for it in range(25):
        seqs, lps = gen.sample(32, 5)
        fitness = torch.from_numpy(score(seqs))
        elite_scores, elite = fitness.topk(8)
        loss = -(lps[elite].sum(1) * elite_scores).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

        pred = heads(seqs.float() / 6)
        err = (pred - fitness[:, None]) ** 2
        winner = err.argmin(dim=1, keepdim=True)
        fit_loss = err.gather(1, winner).mean() + 0.05 * err.mean()
        hopt.zero_grad()
        fit_loss.backward()
        hopt.step()
        if it % 8 == 0:
            print(it, f"elite {elite_scores.mean():.3f} mean {fitness.mean():.3f} fit {fit_loss.item():.4f}")


main()
