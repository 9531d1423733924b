import torch
import torch.nn as nn


def mlp(sizes, out=None):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.Tanh())
    return nn.Sequential(*layers, *([out] if out else []))


class Actor(nn.Module):
    def __init__(self, obs, act, limit):
        super().__init__()
        self.pi, self.limit = mlp([obs, 48, 48, act], nn.Tanh()), limit

    def forward(self, s):
        return self.limit * self.pi(s)


class TwinCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.a, self.b = mlp([obs + act, 48, 48, 1]), mlp([obs + act, 48, 48, 1])

    def forward(self, s, u):
        x = torch.cat([s, u], -1)
        return self.a(x).squeeze(-1), self.b(x).squeeze(-1)

    def first(self, s, u):
        return self.a(torch.cat([s, u], -1)).squeeze(-1)
