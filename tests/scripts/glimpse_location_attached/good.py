"""Recurrent attention on a 1-D strip: the classifier learns from labels, the location network by REINFORCE only."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.set_num_threads(1)
WIDTH, CLASSES, STD = 16, 3, 0.15


def make_batch(n, gen):
    centre = torch.rand(n, generator=gen) * 1.6 - 0.8
    label = torch.randint(0, CLASSES, (n,), generator=gen)
    grid = torch.linspace(-1, 1, WIDTH)
    bump = torch.exp(-((grid - centre[:, None]) / 0.2) ** 2)
    phase = torch.cos(grid * 6 + label[:, None] * 2.1)
    return bump * phase + 0.05 * torch.randn(n, WIDTH, generator=gen), label


class GlimpseNetwork(nn.Module):
    def __init__(self, hidden=32, patch=5):
        super().__init__()
        self.register_buffer("offsets", torch.linspace(-0.3, 0.3, patch))
        self.register_buffer("grid", torch.linspace(-1, 1, WIDTH))
        self.what = nn.Linear(patch, hidden)
        self.where = nn.Linear(1, hidden)

    def forward(self, x, l):
        points = l + self.offsets
        weights = torch.softmax(-((points[..., None] - self.grid) / 0.1) ** 2, dim=-1)
        patch = (weights * x[:, None]).sum(-1)
        return torch.tanh(self.what(patch) + self.where(l))


class CoreNetwork(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.i2h, self.h2h = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)

    def forward(self, g, h):
        return torch.tanh(self.i2h(g) + self.h2h(h))


class LocationNetwork(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.fc, self.fc_lt = nn.Linear(hidden, 16), nn.Linear(16, 1)

    def forward(self, h):
        mu = torch.tanh(self.fc_lt(torch.tanh(self.fc(h.detach()))))
        l_t = (mu + STD * torch.randn_like(mu)).clamp(-1, 1).detach()
        log_pi = Normal(mu, STD).log_prob(l_t).sum(-1)
        return l_t, log_pi


class RecurrentAttention(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.hidden = hidden
        self.sensor, self.rnn = GlimpseNetwork(hidden), CoreNetwork(hidden)
        self.classifier, self.baseliner = nn.Linear(hidden, CLASSES), nn.Linear(hidden, 1)

    def forward(self, x, l_t, h):
        h = self.rnn(self.sensor(x, l_t), h)
        return h, self.baseliner(h.detach()).squeeze(-1)


class Trainer:
    def __init__(self, glimpses=4, lr=3e-3):
        self.model, self.locator, self.glimpses = RecurrentAttention(), LocationNetwork(), glimpses
        self.opt_model = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.opt_loc = torch.optim.Adam(self.locator.parameters(), lr=lr)

    def train_batch(self, x, y):
        h, l_t = torch.zeros(len(x), self.model.hidden), torch.zeros(len(x), 1)
        log_pis, baselines = [], []
        for _ in range(self.glimpses):
            h, b = self.model(x, l_t, h)
            l_t, log_pi = self.locator(h)
            log_pis.append(log_pi)
            baselines.append(b)
        h, _ = self.model(x, l_t, h)
        logits = self.model.classifier(h)
        log_pis, baselines = torch.stack(log_pis), torch.stack(baselines)
        reward = (logits.detach().argmax(-1) == y).float()
        loss_model = F.cross_entropy(logits, y) + F.mse_loss(baselines, reward.expand_as(baselines))
        loss_reinforce = -(log_pis * (reward - baselines.detach())).sum(0).mean()
        self.opt_model.zero_grad()
        self.opt_loc.zero_grad()
        (loss_model + loss_reinforce).backward()
        self.opt_model.step()
        self.opt_loc.step()
        return loss_model.item(), reward.mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    trainer = Trainer()
    for it in range(100):
        loss, acc = trainer.train_batch(*make_batch(32, gen))
        if it % 20 == 0:
            print(f"iter {it} loss {loss:.4f} accuracy {acc:.2f}")
