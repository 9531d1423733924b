import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Assembler(nn.Module):
    """Fills four slots one after another, conditioned on the task and the slots so far."""

    def __init__(self, parts=5, tasks=3, width=32):
        super().__init__()
        self.parts = parts
        self.task, self.part = nn.Embedding(tasks, width), nn.Embedding(parts + 1, width)
        self.cell, self.out = nn.GRUCell(width, width), nn.Linear(width, parts)

    def logits(self, h, prev):
        h = self.cell(self.part(prev), h)
        return self.out(h), h

    def start(self, task):
        return torch.tanh(self.task(task)), torch.full_like(task, self.parts)

    @torch.no_grad()
    def build(self, task, slots=4):
        h, prev = self.start(task)
        chosen = []
        for _ in range(slots):
            logits, h = self.logits(h, prev)
            prev = Categorical(logits=logits).sample()
            chosen.append(prev)
        return torch.stack(chosen, 1)

    def log_prob(self, task, parts):
        h, prev = self.start(task)
        total = []
        for part in parts.unbind(1):
            logits, h = self.logits(h, prev)
            total.append(Categorical(logits=logits).log_prob(part))
            prev = part
        return torch.stack(total, 1)


def quality(task, parts):
    wanted = (task[:, None] + torch.arange(4)) % 5
    return (parts == wanted).float().sum(1)


def grpo_objective(logp, advantage, clip=0.2):
    ratio = torch.exp(logp - logp.detach())
    a = advantage[:, None]
    return -torch.min(ratio * a, ratio.clamp(1 - clip, 1 + clip) * a).mean()


def main(steps=40, groups=6, k=8):
    torch.manual_seed(8)
    model = Assembler()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for step in range(steps):
        task = torch.randint(0, 3, (groups,)).repeat_interleave(k)
        parts = model.build(task)
        score = quality(task, parts).view(groups, k)
        adv = (score - score.mean(1, keepdim=True)) / (score.std(1, keepdim=True) + 1e-4)
        loss = grpo_objective(model.log_prob(task, parts), adv.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 0:
            print(f"step {step} score {score.mean():.3f} loss {loss.item():+.1e}")


if __name__ == "__main__":
    main()
