"""Randomised ensembled Q-learning with torch.func: the members' weights are stacked into single leaves,
the forward is vmap over functional_call, and the optimizer holds the stacked leaves."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, stack_module_state, vmap

torch.set_num_threads(1)


class Inventory:
    """Order 0..3 units a day; demand is random; holding and shortage cost."""

    def __init__(self, n, seed=0):
        self.g = torch.Generator().manual_seed(seed)
        self.n, self.stock = n, torch.full((n,), 4.0)
        self.season = torch.rand(n, generator=self.g)

    def obs(self):
        return torch.stack([self.stock / 5 - 1, torch.sin(6.28 * self.season), torch.cos(6.28 * self.season)], 1)

    def step(self, order):
        demand = torch.poisson(1.5 + torch.sin(6.28 * self.season), generator=self.g)
        left = self.stock + order - demand
        reward = -0.1 * left.clamp(min=0) + 0.5 * left.clamp(max=0) - 0.05 * order
        self.stock = left.clamp(0, 10)
        self.season = (self.season + 0.05) % 1
        return self.obs(), reward


class QNet(nn.Module):
    def __init__(self, obs=3, act=4, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, act))

    def forward(self, x):
        return self.net(x)


class Ensemble:
    def __init__(self, size=5, subset=2, lr=3e-3):
        members = [QNet() for _ in range(size)]
        self.params, self.buffers = stack_module_state(members)
        self.skeleton = copy.deepcopy(members[0]).to("meta")
        self.target = {k: v.detach().clone() for k, v in self.params.items()}
        self.opt = torch.optim.Adam(self.params.values(), lr=lr)
        self.size, self.subset = size, subset

    def call_one(self, params, buffers, x):
        return functional_call(self.skeleton, (params, buffers), (x,))

    def q(self, x, params=None):
        return vmap(self.call_one, in_dims=(0, 0, None))(self.params if params is None else params, self.buffers, x)

    def act(self, obs, eps):
        with torch.no_grad():
            greedy = self.q(obs).mean(0).argmax(1)
        return torch.where(torch.rand(len(obs)) < eps, torch.randint(0, 4, (len(obs),)), greedy)

    def learn(self, s, a, r, s2, gamma=0.8):
        with torch.no_grad():
            some = torch.randperm(self.size)[:self.subset]
            q2 = self.q(s2, self.target)[some].min(0).values
            y = r + gamma * q2.max(1).values
        q = self.q(s).gather(2, a.expand(self.size, -1)[..., None]).squeeze(-1)
        loss = F.mse_loss(q, y.expand(self.size, -1), reduction="none").mean(1).sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for k, p in self.params.items():
                self.target[k].lerp_(p, 0.05)
        return loss.item(), q.detach().std(0).mean().item()


def main():
    torch.manual_seed(0)
    env, agent, memory = Inventory(10), Ensemble(), []
    obs = env.obs()
    for t in range(60):
        order = agent.act(obs, eps=max(0.1, 1 - t / 30))
        nxt, reward = env.step(order)
        memory += list(zip(obs, order, reward, nxt))
        obs = nxt
        if t >= 10:
            rows = [memory[i] for i in torch.randint(0, len(memory), (48,)).tolist()]
            loss, spread = agent.learn(*(torch.stack(c) for c in zip(*rows)))
            if t % 10 == 0:
                print(f"day {t} reward {reward.mean():.3f} loss {loss:.3f} disagreement {spread:.3f}")


if __name__ == "__main__":
    main()
