"""TD3 on a 2-d point mass. The critics are fitted alone for a while, then the actor joins every other update."""
import copy

import numpy as np
import torch
import torch.nn.functional as F
from networks import Actor, TwinCritic

torch.set_num_threads(1)


class PointMass:
    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.t, self.x, self.v = 0, self.rng.uniform(-1, 1, 2), np.zeros(2)
        return np.concatenate([self.x, self.v]).astype(np.float32)

    def step(self, u):
        self.v = 0.8 * self.v + 0.3 * np.clip(u, -1, 1)
        self.x = np.clip(self.x + 0.3 * self.v, -2, 2)
        self.t += 1
        reward = -float(np.sum(self.x ** 2)) - 0.05 * float(np.sum(u ** 2))
        return np.concatenate([self.x, self.v]).astype(np.float32), reward, False, self.t >= 25


class Replay:
    def __init__(self, size, obs, act):
        self.s = np.zeros((size, obs), np.float32)
        self.u = np.zeros((size, act), np.float32)
        self.r = np.zeros(size, np.float32)
        self.s2 = np.zeros((size, obs), np.float32)
        self.d = np.zeros(size, np.float32)
        self.n = 0

    def add(self, *row):
        for arr, x in zip((self.s, self.u, self.r, self.s2, self.d), row):
            arr[self.n] = x
        self.n += 1

    def sample(self, k, rng):
        i = rng.integers(0, self.n, k)
        return [torch.from_numpy(arr[i]) for arr in (self.s, self.u, self.r, self.s2, self.d)]


class TD3:
    def __init__(self, obs=4, act=2, limit=1.0, warmup=16, delay=2):
        self.actor, self.critic = Actor(obs, act, limit), TwinCritic(obs, act)
        self.actor_target, self.critic_target = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=2e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        self.limit, self.warmup, self.delay, self.total_it = limit, warmup, delay, 0

    def select_action(self, s):
        return self.actor(torch.from_numpy(s).reshape(1, -1)).cpu().data.numpy().flatten()

    def train(self, batch):
        self.total_it += 1
        s, u, r, s2, d = batch
        with torch.no_grad():
            noise = (torch.randn_like(u) * 0.2).clamp(-0.5, 0.5)
            u2 = (self.actor_target(s2) + noise).clamp(-self.limit, self.limit)
            y = r + 0.9 * (1 - d) * torch.min(*self.critic_target(s2, u2))
        q1, q2 = self.critic(s, u)
        critic_loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        actor_loss = None
        if self.total_it > self.warmup and self.total_it % self.delay == 0:
            actor_loss = -self.critic.first(s, self.actor(s)).mean()
            self.actor_optimizer.zero_grad()
            actor_loss.backward()
            self.actor_optimizer.step()
        if self.total_it % self.delay == 0:
            for net, tgt in ((self.critic, self.critic_target), (self.actor, self.actor_target)):
                for p, tp in zip(net.parameters(), tgt.parameters()):
                    tp.data.copy_(0.05 * p.data + 0.95 * tp.data)
        return critic_loss.item(), None if actor_loss is None else actor_loss.item()


def main():
    torch.manual_seed(0)
    rng, env, agent, memory = np.random.default_rng(0), PointMass(), TD3(), Replay(400, 4, 2)
    s = env.reset()
    for t in range(300):
        u = rng.uniform(-1, 1, 2) if t < 100 else np.clip(agent.select_action(s) + 0.1 * rng.normal(size=2), -1, 1)
        s2, r, terminal, timeout = env.step(u)
        memory.add(s, u, r, s2, float(terminal))
        s = env.reset() if terminal or timeout else s2
        if t >= 100 and t % 4 == 0:
            c, a = agent.train(memory.sample(48, rng))
            if t % 24 == 8:
                print(f"t {t} critic {c:.3f} actor {'-' if a is None else format(a, '.3f')}")


if __name__ == "__main__":
    main()
