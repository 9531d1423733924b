import numpy as np
import torch
import torch.nn.functional as F
from torch import nn, optim

torch.set_num_threads(1)


class Queue:
    """Two queues, one server: decide which one to serve."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.q = np.array([2.0, 2.0])
        self.t = 0
        return self.q / 10

    def step(self, which):
        self.q += self.rng.poisson([0.3, 0.6])
        self.q[which] = max(0.0, self.q[which] - 1.5)
        self.q = np.minimum(self.q, 10)
        self.t += 1
        return self.q / 10, -float(self.q @ [1.0, 2.0]) / 10, self.t >= 25


class Memory:
    def __init__(self):
        self.items = []

    def push(self, *item):
        self.items.append(item)

    def drain(self):
        items, self.items = self.items, []
        return items


class PPO:
    def __init__(self, clip=0.2, epochs=4, gamma=0.95):
        self.actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2), nn.LogSoftmax(dim=-1))
        self.critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.opt = optim.Adam([{"params": self.actor.parameters(), "lr": 3e-3}, {"params": self.critic.parameters(), "lr": 1e-2}])
        self.clip, self.epochs, self.gamma = clip, epochs, gamma

    def act(self, s):
        with torch.no_grad():
            logp = self.actor(torch.FloatTensor(s))
        a = int(torch.multinomial(logp.exp(), 1))
        return a, float(logp[a])

    def learn(self, items):
        returns, g = [], 0.0
        for _, _, _, r, done in reversed(items):
            g = r + self.gamma * g * (not done)
            returns.insert(0, g)
        returns = torch.FloatTensor(returns)
        for _ in range(self.epochs):
            ratios, values = [], []
            for s, a, old, _, _ in items:
                s = torch.FloatTensor(s)
                ratios.append(torch.exp(self.actor(s)[a] - old))
                values.append(self.critic(s)[0])
            ratios = torch.FloatTensor(ratios)  # <- culprit
            values = torch.stack(values)
            adv = returns - values.detach()
            adv = (adv - adv.mean()) / (adv.std() + 1e-6)
            surrogate = torch.minimum(ratios * adv, ratios.clamp(1 - self.clip, 1 + self.clip) * adv)
            value_loss = F.mse_loss(values, returns)
            loss = value_loss - surrogate.mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return value_loss.item(), surrogate.mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    env, agent, memory = Queue(np.random.default_rng(0)), PPO(), Memory()
    for it in range(12):
        total = 0.0
        for _ in range(2):
            s, done = env.reset(), False
            while not done:
                a, logp = agent.act(s)
                s2, r, done = env.step(a)
                memory.push(s.copy(), a, logp, r, done)
                s, total = s2, total + r
        v, pi = agent.learn(memory.drain())
        if it % 3 == 0:
            print(f"it {it:2d} | return {total / 2:7.2f} | value {v:.4f} | surrogate {pi:+.4f}")
