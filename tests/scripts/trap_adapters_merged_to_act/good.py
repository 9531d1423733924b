"""A pretrained policy gets low-rank adapters, which are merged into its weights for each rollout and taken out again."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class Adapted(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.merged = False

    def forward(self, x):
        out = self.base(x)
        return out if self.merged else out + x @ self.down.T @ self.up.T

    @torch.no_grad()
    def merge(self):
        self.before = self.base.weight.clone()
        self.base.weight += self.up @ self.down
        self.merged = True

    @torch.no_grad()
    def unmerge(self):
        self.base.weight.copy_(self.before)
        self.merged = False


def right(obs):
    return obs[:, :3].argmax(1)


policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
pretraining = torch.optim.Adam(policy.parameters(), lr=3e-3)
for _ in range(60):
    obs = torch.randn(64, 4)
    loss = F.cross_entropy(policy(obs), torch.where(torch.rand(64) < 0.5, right(obs), torch.randint(0, 3, (64,))))
    pretraining.zero_grad()
    loss.backward()
    pretraining.step()
pretraining.zero_grad()

policy[0], policy[2] = Adapted(policy[0]), Adapted(policy[2])
adapters = [layer for layer in policy if isinstance(layer, Adapted)]
optimizer = torch.optim.Adam([p for p in policy.parameters() if p.requires_grad], lr=1e-2)
for update in range(80):
    obs = torch.randn(64, 4)
    for layer in adapters:
        layer.merge()
    with torch.no_grad():
        action = torch.distributions.Categorical(logits=policy(obs)).sample()
    for layer in adapters:
        layer.unmerge()
    reward = (action == right(obs)).float()
    log_prob = torch.distributions.Categorical(logits=policy(obs)).log_prob(action)
    loss = -(log_prob * (reward - reward.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 20 == 0:
        print(f"{update}: reward {reward.mean():.2f}")
