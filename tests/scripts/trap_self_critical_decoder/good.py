import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
VOCAB, BOS, LENGTH = 8, 0, 5


class Captioner(nn.Module):
    def __init__(self, feat=6, width=40):
        super().__init__()
        self.init_h = nn.Linear(feat, width)
        self.embed = nn.Embedding(VOCAB, width)
        self.cell = nn.GRUCell(width, width)
        self.out = nn.Linear(width, VOCAB)

    def decode(self, feats, greedy):
        h = torch.tanh(self.init_h(feats))
        token = torch.full((len(feats),), BOS)
        tokens, logps = [], []
        for _ in range(LENGTH):
            h = self.cell(self.embed(token), h)
            logp = F.log_softmax(self.out(h), dim=-1)
            if greedy:
                token = logp.argmax(-1)
            else:
                token = torch.multinomial(logp.exp().detach(), 1).squeeze(1)
            tokens.append(token)
            logps.append(logp.gather(1, token[:, None]).squeeze(1))
        return torch.stack(tokens, 1), torch.stack(logps, 1)


def make_images(n):
    words = torch.randint(1, VOCAB, (n, 2))
    feats = torch.cat([F.one_hot(words[:, 0] % 3, 3), F.one_hot(words[:, 1] % 3, 3)], dim=1).float()
    return feats, torch.stack([words[:, 0] % 3 + 1, words[:, 1] % 3 + 4], dim=1)


def score(tokens, reference):
    hits = (tokens[:, :, None] == reference[:, None, :]).any(1).float().mean(1)
    order = (tokens[:, 0] == reference[:, 0]).float()
    return 0.7 * hits + 0.3 * order


def main():
    torch.manual_seed(0)
    model = Captioner()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for it in range(70):
        feats, reference = make_images(64)
        model.eval()
        with torch.no_grad():
            greedy, _ = model.decode(feats, greedy=True)
        model.train()
        sampled, logps = model.decode(feats, greedy=False)
        advantage = score(sampled, reference) - score(greedy, reference)
        loss = -(advantage[:, None] * logps).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if it % 15 == 0:
            print(f"it {it:3d} sampled {score(sampled, reference).mean().item():.3f} "
                  f"greedy {score(greedy, reference).mean().item():.3f}")


if __name__ == "__main__":
    main()
