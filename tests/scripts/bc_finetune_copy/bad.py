import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, kl_divergence

torch.set_num_threads(1)
N_ACT = 4


class PolicyNet(nn.Module):
    def __init__(self, n_obs=6):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, N_ACT))

    def forward(self, x):
        return Categorical(logits=self.layers(x))


class World:
    def __init__(self):
        self.w = torch.randn(6, N_ACT, generator=torch.Generator().manual_seed(12))
        self.noise = 0.8 * torch.randn(6, N_ACT, generator=torch.Generator().manual_seed(13))

    def contexts(self, n):
        return torch.randn(n, 6)

    def expert(self, x):
        return (x @ (self.w + self.noise)).argmax(1)

    def reward(self, x, a):
        return torch.tanh((x @ self.w).gather(1, a[:, None]).squeeze(1))


def freeze(module):
    for p in module.parameters():
        p.requires_grad_(False)  # <- culprit
    return module.eval()


def clone_expert(world, epochs=80):
    policy = PolicyNet()
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for _ in range(epochs):
        x = world.contexts(128)
        loss = F.cross_entropy(policy(x).logits, world.expert(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"cloned, imitation loss {loss.item():.3f}")
    return policy


def finetune(world, policy, prior, updates=150, kl_coef=0.02):
    critic = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam([
        {"params": policy.parameters(), "lr": 3e-3},
        {"params": critic.parameters(), "lr": 1e-2},
    ])
    for u in range(updates):
        x = world.contexts(256)
        dist = policy(x)
        a = dist.sample()
        r = world.reward(x, a)
        v = critic(x).squeeze(1)
        adv = (r - v).detach()
        policy_loss = -(dist.log_prob(a) * adv).mean() + kl_coef * kl_divergence(dist, prior(x)).mean()
        value_loss = F.mse_loss(v, r)
        optimizer.zero_grad()
        (policy_loss + value_loss).backward()
        optimizer.step()
        if u % 30 == 0:
            print(f"update {u:3d} reward {r.mean().item():+.3f} value loss {value_loss.item():.3f}")


def main():
    torch.manual_seed(0)
    world = World()
    prior = freeze(clone_expert(world))
    policy = copy.deepcopy(prior).train()  # <- culprit
    finetune(world, policy, prior)


if __name__ == "__main__":
    main()
