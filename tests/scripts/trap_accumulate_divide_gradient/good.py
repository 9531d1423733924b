import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
VOCAB, LEN, K = 10, 6, 8


class LM(nn.Module):
    def __init__(self, d=28):
        super().__init__()
        self.emb, self.gru, self.out = nn.Embedding(VOCAB, d), nn.GRU(d, d, batch_first=True), nn.Linear(d, VOCAB)

    def forward(self, ids, h=None):
        y, h = self.gru(self.emb(ids), h)
        return self.out(y), h


@torch.no_grad()
def rollout(lm, prompt):
    ids = torch.full((K, 1), prompt)
    tok, h = ids, None
    for _ in range(LEN):
        logits, h = lm(tok, h)
        tok = torch.multinomial(logits[:, -1].softmax(-1), 1)
        ids = torch.cat([ids, tok], 1)
    return ids


def reward(ids):
    return ((ids[:, 1:] - ids[:, :1]) % 3 == 0).float().mean(1)


def leave_one_out(r):
    return r - (r.sum() - r) / (len(r) - 1)


def sequence_loss(lm, ids, adv):
    logits, _ = lm(ids[:, :-1])
    logp = F.log_softmax(logits, -1).gather(2, ids[:, 1:, None]).squeeze(2).sum(1)
    return -(adv * logp).mean()


class Accumulated:
    """Collects gradients of several losses and applies their average."""

    def __init__(self, optimizer):
        self.optimizer, self.count = optimizer, 0

    def params(self):
        return [p for g in self.optimizer.param_groups for p in g["params"]]

    def add(self, loss):
        loss.backward()
        self.count += 1

    def apply(self):
        grads = [p.grad for p in self.params()]
        torch._foreach_div_(grads, float(self.count))
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.count = 0


def main():
    torch.manual_seed(0)
    lm = LM()
    acc = Accumulated(torch.optim.SGD(lm.parameters(), lr=0.3))
    for it in range(30):
        rewards = []
        for prompt in torch.randint(0, VOCAB, (5,)).tolist():
            ids = rollout(lm, prompt)
            r = reward(ids)
            acc.add(sequence_loss(lm, ids, leave_one_out(r)))
            rewards.append(r.mean().item())
        acc.apply()
        if it % 6 == 0:
            print(f"iter {it} reward {sum(rewards) / len(rewards):.3f}")


if __name__ == "__main__":
    main()
