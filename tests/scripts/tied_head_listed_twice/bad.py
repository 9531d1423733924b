import warnings

import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
VOCAB, MAX_NEW = 16, 8


class TinyLM(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.ln = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, VOCAB, bias=False)
        self.lm_head.weight = self.wte.weight
        nn.init.normal_(self.wte.weight, std=0.3)

    def forward(self, ids, state=None):
        h, state = self.rnn(self.wte(ids), state)
        return self.lm_head(self.ln(h)), state


def trainable_parameters(model):
    found = []
    for part in (model.wte, model.rnn, model.ln, model.lm_head):
        for p in part.parameters():
            if p.requires_grad:
                found.append(p)
    return found


@torch.no_grad()
def generate(model, prompt):
    token, state, out = prompt[:, None], None, [prompt[:, None]]
    for _ in range(MAX_NEW):
        logits, state = model(token, state)
        token = torch.multinomial(F.softmax(logits[:, -1], -1), 1)
        out.append(token)
    return torch.cat(out, 1)


def ascending(ids):
    """Share of positions that continue the count started by the prompt."""
    return (ids[:, 1:] == (ids[:, :-1] + 1) % VOCAB).float().mean(1)


def sequence_logprob(model, ids):
    logits, _ = model(ids[:, :-1])
    return F.log_softmax(logits, -1).gather(2, ids[:, 1:].unsqueeze(2)).squeeze(2).mean(1)


class Reinforcer:
    def __init__(self, model, lr=0.1):
        self.model = model
        self.optimizer = torch.optim.SGD(trainable_parameters(model), lr=lr)  # <- culprit
        self.baseline = 0.0

    def update(self, prompts):
        ids = generate(self.model, prompts)
        reward = ascending(ids)
        advantage = reward - self.baseline
        self.baseline = 0.9 * self.baseline + 0.1 * reward.mean().item()
        loss = -(sequence_logprob(self.model, ids) * advantage).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return reward.mean().item(), loss.item()


if __name__ == "__main__":
    torch.manual_seed(1)
    learner = Reinforcer(TinyLM())
    for it in range(30):
        reward, loss = learner.update(torch.randint(0, VOCAB, (48,)))
        if it % 10 == 0:
            print(f"update {it} reward {reward:.3f} loss {loss:+.4f} baseline {learner.baseline:.3f}")
