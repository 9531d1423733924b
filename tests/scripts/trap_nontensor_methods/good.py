"""REINFORCE with a few helper objects whose vocabulary resembles torch."""
import torch
from torch import nn


class Curriculum:
    """Level counter with a fluent interface."""

    def __init__(self):
        self.noise = 0.1
        self.level = 0

    def step(self, score):
        if score > 0.7:
            self.level += 1
            self.mul(1.3)
        return self

    def mul(self, k):
        self.noise = min(self.noise * k, 1.0)
        return self.noise

    def clamp(self, lo, hi):
        self.noise = max(lo, min(hi, self.noise))
        return self.noise


class Probe:
    def __init__(self, module):
        self.norms = []
        self.handle = module.register_forward_hook(self._seen)

    def _seen(self, module, inputs, output):
        self.norms.append(output.detach().norm().item())

    def detach(self):
        self.handle.remove()
        return self


class Tape:
    def __init__(self):
        self.entries = []

    def backward(self):
        return list(reversed(self.entries))

    def zero_grad(self):
        self.entries.clear()
        return self


torch.manual_seed(2)
torch.set_num_threads(1)
policy = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
curriculum, probe, tape = Curriculum(), Probe(policy[2]), Tape()
scores = []
for update in range(160):
    target = torch.randint(4, (64,))
    obs = torch.eye(4)[target] + curriculum.noise * torch.randn(64, 4)
    dist = torch.distributions.Categorical(logits=policy(obs))
    action = dist.sample()
    reward = (action == target).float()
    advantage = reward - reward.mean()
    loss = -(dist.log_prob(action) * advantage).mean() - 1e-3 * dist.entropy().mean()
    tape.zero_grad()
    optimizer.zero_grad()
    loss.backward()
    tape.entries.append(float(reward.mean()))
    tape.backward()
    optimizer.step()
    scores.append(reward.mean().item())
    if update % 20 == 19:
        curriculum.step(scores[-1])
        curriculum.clamp(0.05, 0.8)
    if update == 50:
        probe.detach()
print("score %.3f -> %.3f" % (sum(scores[:10]) / 10, sum(scores[-10:]) / 10))
print("level", curriculum.level, "noise", round(curriculum.noise, 3), "probed", len(probe.norms))
