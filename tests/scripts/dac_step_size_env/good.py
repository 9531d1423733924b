import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
LRS = [0.0, 0.02, 0.1, 0.5]


class SGDEnv:
    """One episode = 15 optimisation steps of a regression net; the action sets the learning rate."""

    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.horizon = 15

    def reset(self):
        self.x = torch.rand(64, 3, generator=self.gen) * 2 - 1
        w = torch.randn(3, 1, generator=self.gen)
        self.y = torch.tanh(self.x @ w)
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.t, self.last = 0, F.mse_loss(self.net(self.x), self.y).item()
        return self.observe(0.0)

    def observe(self, change):
        return np.array([self.t / self.horizon, np.log(self.last + 1e-6) / 5, change], dtype=np.float32)

    def step(self, action):
        pick = torch.randint(0, 64, (16,), generator=self.gen)
        loss = F.mse_loss(self.net(self.x[pick]), self.y[pick])
        grads = torch.autograd.grad(loss, list(self.net.parameters()))
        for p, g in zip(self.net.parameters(), grads):
            p.data.sub_(LRS[action] * g)
        full = F.mse_loss(self.net(self.x).detach(), self.y).item()
        change = float(np.clip(np.log(self.last + 1e-6) - np.log(full + 1e-6), -1, 1))
        self.last, self.t = full, self.t + 1
        return self.observe(change), change, self.t >= self.horizon


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, len(LRS)))
        self.target = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, len(LRS)))
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=2e-3)

    def values(self, obs):
        return self.q(torch.from_numpy(obs))

    def learn(self, rows):
        o, a, r, n, d = zip(*rows)
        o, n = torch.from_numpy(np.stack(o)), torch.from_numpy(np.stack(n))
        a = torch.tensor(a)
        r, d = torch.tensor(r, dtype=torch.float32), torch.tensor(d, dtype=torch.float32)
        with torch.no_grad():
            y = r + 0.9 * (1 - d) * self.target(n).amax(1)
        q = self.q(o).gather(1, a[:, None]).squeeze(1)
        loss = F.mse_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


def evaluate(agent, env, episodes=2):
    final = []
    for _ in range(episodes):
        obs, done = env.reset(), False
        while not done:
            with torch.no_grad():
                action = int(agent.values(obs).argmax())
            obs, _, done = env.step(action)
        final.append(env.last)
    return float(np.mean(final))


def main():
    torch.manual_seed(0)
    random.seed(0)
    agent, env, eval_env = Agent(), SGDEnv(1), SGDEnv(2)
    memory = []
    for episode in range(60):
        obs, done = env.reset(), False
        eps = max(0.1, 1 - episode / 40)
        while not done:
            with torch.no_grad():
                greedy = int(agent.values(obs).argmax())
            action = random.randrange(len(LRS)) if random.random() < eps else greedy
            nxt, reward, done = env.step(action)
            memory.append((obs, action, reward, nxt, done))
            obs = nxt
            if len(memory) >= 64:
                agent.learn(random.sample(memory, 32))
        if episode % 5 == 4:
            agent.target.load_state_dict(agent.q.state_dict())
        if episode % 15 == 14:
            print(f"episode {episode + 1} final loss {evaluate(agent, eval_env):.4f}")


if __name__ == "__main__":
    main()
