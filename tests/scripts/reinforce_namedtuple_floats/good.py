from collections import namedtuple

import numpy as np
import torch
from torch import nn, optim
from torch.distributions import Categorical

torch.set_num_threads(1)
Step = namedtuple("Step", "obs action logp entropy reward")


class TwoRoom:
    """Numpy grid: reach (3, 3) from (0, 0)."""

    def reset(self):
        self.p = np.array([0, 0])
        self.n = 0
        return self.p / 3.0

    def step(self, a):
        move = [(0, 1), (1, 0), (0, -1), (-1, 0)][a]
        self.p = np.clip(self.p + move, 0, 3)
        self.n += 1
        win = bool((self.p == 3).all())
        return self.p / 3.0, 1.0 if win else -0.02, win or self.n >= 25


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(2, 32)
        self.l2 = nn.Linear(32, 4)

    def forward(self, s):
        return Categorical(logits=self.l2(torch.relu(self.l1(s))))


class Runner:
    def __init__(self, policy, env):
        self.policy, self.env = policy, env

    def episode(self):
        steps, s, done = [], self.env.reset(), False
        while not done:
            dist = self.policy(torch.as_tensor(s, dtype=torch.float32))
            a = dist.sample()
            lp = dist.log_prob(a)
            nxt, r, done = self.env.step(int(a))
            steps.append(Step(s, int(a), lp, dist.entropy(), r))
            s = nxt
        return steps


def compute_returns(steps, gamma):
    acc, out = 0.0, []
    for st in reversed(steps):
        acc = st.reward + gamma * acc
        out.append(acc)
    return torch.tensor(out[::-1])


def train(episodes=30, gamma=0.97, ent=0.02):
    torch.manual_seed(5)
    np.random.seed(5)
    policy = Policy()
    opt = optim.Adam(policy.parameters(), lr=5e-3)
    runner = Runner(policy, TwoRoom())
    running = 0.0
    for ep in range(episodes):
        steps = runner.episode()
        G = compute_returns(steps, gamma)
        adv = G - running
        running = 0.9 * running + 0.1 * G[0].item()
        logps = torch.stack([s.logp for s in steps])
        bonus = sum(s.entropy for s in steps) / len(steps)
        loss = -(logps * adv).mean() - ent * bonus
        opt.zero_grad()
        loss.backward()
        opt.step()
        if ep % 10 == 0:
            print(f"{ep}: len {len(steps)} return {G[0]:.3f} loss {loss.item():.4f}")


train()
