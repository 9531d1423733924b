import torch
import torch.nn as nn
import torch.nn.functional as F


class Discriminator(nn.Module):
    def __init__(self, obs, act, hidden=48, gp_weight=0.1):
        super().__init__()
        self.gp_weight = gp_weight
        self.net = nn.Sequential(nn.Linear(obs + act, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                 nn.Linear(hidden, 1))
        self.optimizer = torch.optim.Adam(self.parameters(), lr=5e-3)

    def forward(self, sa):
        return self.net(sa).squeeze(-1)

    def gradient_penalty(self, expert, policy):
        eps = torch.rand(len(expert), 1)
        mixed = (eps * expert + (1 - eps) * policy).requires_grad_(True)
        out = self(mixed)
        grad, = torch.autograd.grad(out, mixed, grad_outputs=torch.ones_like(out), create_graph=True)
        return self.gp_weight * grad.pow(2).sum(1).mean()

    def update(self, expert, policy):
        real, fake = self(expert), self(policy)
        bce = F.binary_cross_entropy_with_logits(real, torch.ones_like(real)) \
            + F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake))
        gp = self.gradient_penalty(expert, policy)
        self.optimizer.zero_grad()
        (bce + gp).backward()
        self.optimizer.step()
        return bce.item(), gp.item()

    @torch.no_grad()
    def reward(self, sa):
        return self(sa)
