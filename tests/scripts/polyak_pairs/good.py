import copy
from itertools import chain

import gymnasium as gym
import numpy as np
import torch
from torch import nn, optim

torch.set_num_threads(1)


class TwinQ(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.one = nn.Sequential(nn.Linear(n, 48), nn.ReLU(), nn.Linear(48, 1))
        self.two = nn.Sequential(nn.Linear(n, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, o, a):
        x = torch.cat([o, a], 1)
        return self.one(x), self.two(x)


class Policy(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, o):
        return 2.0 * torch.tanh(self.body(o))


class Agent:
    def __init__(self):
        self.policy, self.q = Policy(3), TwinQ(4)
        self.policy_slow, self.q_slow = copy.deepcopy(self.policy), copy.deepcopy(self.q)
        self.opt_policy = optim.Adam(self.policy.parameters(), lr=5e-4)
        self.opt_q = optim.Adam(self.q.parameters(), lr=1e-3)
        live = chain(self.policy.parameters(), self.q.parameters())
        slow = chain(self.policy_slow.parameters(), self.q_slow.parameters())
        self.pairs = list(zip(live, slow))

    def act(self, o, noise, rng):
        with torch.no_grad():
            a = self.policy(torch.as_tensor(o, dtype=torch.float32)[None])[0].numpy()
        return np.clip(a + noise * rng.normal(size=1), -2, 2).astype(np.float32)

    def critic_loss(self, o, a, r, o2):
        with torch.no_grad():
            a2 = (self.policy_slow(o2) + 0.2 * torch.randn_like(a)).clamp(-2, 2)
            y = r + 0.95 * torch.min(*self.q_slow(o2, a2))
        q1, q2 = self.q(o, a)
        return nn.functional.mse_loss(q1, y) + nn.functional.mse_loss(q2, y)

    def soft_update(self, tau=0.01):
        for p, s in self.pairs:
            s.data.mul_(1 - tau).add_(p.data, alpha=tau)

    def learn(self, batch, k):
        loss_q = self.critic_loss(*batch)
        self.opt_q.zero_grad()
        loss_q.backward()
        self.opt_q.step()
        if k % 2 == 0:
            loss_pi = -self.q(batch[0], self.policy(batch[0]))[0].mean()
            self.opt_policy.zero_grad()
            loss_pi.backward()
            self.opt_policy.step()
            self.soft_update()
        return loss_q.item()


def main(seed=23):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    env, agent, rows, returns, ret = gym.make("Pendulum-v1"), Agent(), [], [], 0.0
    o, _ = env.reset(seed=seed)
    for t in range(500):
        a = agent.act(o, 0.4, rng)
        o2, r, _, trunc, _ = env.step(a)
        rows.append((o, a, np.array([0.1 * r], np.float32), o2))
        o, ret = o2, ret + r
        if trunc:
            returns.append(ret)
            o, ret = env.reset()[0], 0.0
        if t >= 100:
            pick = rng.integers(0, len(rows), 48)
            batch = [torch.from_numpy(np.stack([rows[i][k] for i in pick]).astype(np.float32)) for k in range(4)]
            loss = agent.learn(batch, t)
            if t % 100 == 0:
                print(f"t {t} critic {loss:.4f} returns {[round(float(x)) for x in returns]}")


if __name__ == "__main__":
    main()
