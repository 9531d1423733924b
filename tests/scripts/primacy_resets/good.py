import copy

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class QNetwork(nn.Module):
    def __init__(self, obs_dim, n_actions, width=48):
        super().__init__()
        self.width, self.n_actions = width, n_actions
        self.features = nn.Sequential(nn.Linear(obs_dim, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, n_actions)

    def forward(self, x):
        return self.head(self.features(x))

    def reset_head(self):
        self.head.reset_parameters()


class ReplayBuffer:
    def __init__(self, capacity, obs_dim, seed):
        self.obs = np.zeros((capacity, obs_dim), np.float32)
        self.next_obs = np.zeros((capacity, obs_dim), np.float32)
        self.act = np.zeros(capacity, np.int64)
        self.rew = np.zeros(capacity, np.float32)
        self.done = np.zeros(capacity, np.float32)
        self.size, self.capacity, self.rng = 0, capacity, np.random.default_rng(seed)

    def add(self, *row):
        i = self.size % self.capacity
        self.obs[i], self.act[i], self.rew[i], self.next_obs[i], self.done[i] = row
        self.size += 1

    def sample(self, n):
        i = self.rng.integers(0, min(self.size, self.capacity), n)
        return [torch.from_numpy(x[i]) for x in (self.obs, self.act, self.rew, self.next_obs, self.done)]


class DQNAgent:
    def __init__(self, obs_dim, n_actions, lr=2e-3, gamma=0.97, tau=0.02):
        self.online = QNetwork(obs_dim, n_actions)
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=lr)
        self.gamma, self.tau, self.n_actions = gamma, tau, n_actions

    @torch.no_grad()
    def act(self, obs, eps, rng):
        if rng.random() < eps:
            return int(rng.integers(self.n_actions))
        return self.online(torch.from_numpy(obs)).argmax().item()

    def learn(self, obs, act, rew, nxt, done):
        with torch.no_grad():
            y = rew + self.gamma * (1 - done) * self.target(nxt).max(1).values
        q = self.online(obs).gather(1, act[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for p, tp in zip(self.online.parameters(), self.target.parameters()):
                tp.lerp_(p, self.tau)
        return loss.item()

    def reset(self):
        self.online.reset_head()
        self.target = copy.deepcopy(self.online).requires_grad_(False)


def main(total=1500, reset_every=350):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    env = gym.make("CartPole-v1")
    agent, buffer = DQNAgent(4, 2), ReplayBuffer(5000, 4, seed=0)
    obs, _ = env.reset(seed=0)
    lengths, length = [], 0
    for t in range(1, total + 1):
        a = agent.act(obs, max(0.1, 1 - t / 500), rng)
        nxt, r, term, trunc, _ = env.step(a)
        buffer.add(obs, a, r, nxt, float(term))
        length += 1
        obs = nxt
        if term or trunc:
            lengths.append(length)
            obs, length = env.reset()[0], 0
        if t > 100 and t % 2 == 0:
            loss = agent.learn(*buffer.sample(64))
        if t % reset_every == 0 and t < 800:
            agent.reset()
        if t % 300 == 0:
            print(f"t {t} loss {loss:.4f} last lengths {np.mean(lengths[-5:]):.1f}")


if __name__ == "__main__":
    main()
