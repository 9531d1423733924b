import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(31)


def expert(state):
    """bang-free steering law the student has to copy"""
    angle, speed = state.unbind(1)
    return torch.stack([torch.tanh(-1.5 * angle - 0.4 * speed), torch.tanh(0.8 - speed.abs())], 1)


def sample_states(n):
    return torch.randn(n, 2)


class Driver(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2, 48), nn.SiLU(), nn.Linear(48, 2))

    def forward(self, s):
        return torch.tanh(self.trunk(s) + 0.1 * torch.randn(len(s), 2))


class Critic(nn.Module):
    """says how expert-like a state-action pair looks (logit)"""

    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

    def forward(self, s, a):
        return self.f(torch.cat([s, a], -1)).squeeze(-1)


def real(logits):
    return F.binary_cross_entropy_with_logits(logits, torch.ones_like(logits))


def fake(logits):
    return F.binary_cross_entropy_with_logits(logits, torch.zeros_like(logits))


def batches(size, count):
    demo_s = sample_states(2000)
    demo_a = expert(demo_s) + 0.05 * torch.randn(2000, 2)
    for _ in range(count):
        i = torch.randint(0, 2000, (size,))
        yield demo_s[i], demo_a[i], sample_states(size)


driver, disc = Driver(), Critic()
opt_pi = torch.optim.Adam(driver.parameters(), lr=2e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(disc.parameters(), lr=1e-2, betas=(0.5, 0.9))

for k, (es, ea, s) in zip(itertools.count(), batches(64, 400)):
    opt_pi.zero_grad()
    opt_d.zero_grad()
    a = driver(s)
    g_loss = real(disc(s, a))
    g_loss.backward()  # <- culprit
    opt_pi.step()

    d_loss = real(disc(es, ea)) + fake(disc(s, a.detach()))
    d_loss.backward()
    opt_d.step()

    if k % 80 == 79:
        with torch.no_grad():
            probe = sample_states(500)
            gap = (driver(probe) - expert(probe)).abs().mean()
        print(f"k {k} d_loss {d_loss.item():.3f} g_loss {g_loss.item():.3f} imitation error {gap:.3f}")
