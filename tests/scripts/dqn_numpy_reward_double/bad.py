import random
from collections import deque, namedtuple

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

torch.set_num_threads(1)
Transition = namedtuple("Transition", ("state", "action", "reward", "next_state", "done"))


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return Transition(*zip(*random.sample(self.memory, batch_size)))

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 64)
        self.layer2 = nn.Linear(64, n_actions)

    def forward(self, x):
        return self.layer2(torch.relu(self.layer1(x)))


class Trainer:
    BATCH, GAMMA, TAU = 32, 0.97, 0.05

    def __init__(self, env):
        self.env = env
        self.policy_net = DQN(env.observation_space.shape[0], env.action_space.n)
        self.target_net = DQN(env.observation_space.shape[0], env.action_space.n)
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optimizer = optim.AdamW(self.policy_net.parameters(), lr=1e-3)
        self.memory = ReplayMemory(1000)
        self.criterion = nn.MSELoss()

    def shaped(self, obs, reward):
        # penalise leaning
        return reward - np.abs(np.float64(obs[2])) * 2

    def optimize_model(self):
        b = self.memory.sample(self.BATCH)
        s = torch.from_numpy(np.stack(b.state))
        s2 = torch.from_numpy(np.stack(b.next_state))
        a = torch.tensor(b.action)
        r = torch.from_numpy(np.array(b.reward))
        nd = 1 - torch.tensor(b.done, dtype=torch.float32)
        q = self.policy_net(s)
        target = q.detach().clone()
        with torch.no_grad():
            y = r + self.GAMMA * nd * self.target_net(s2).max(1).values
            target[torch.arange(self.BATCH), a] = y  # <- culprit
        loss = self.criterion(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for t, p in zip(self.target_net.parameters(), self.policy_net.parameters()):
                t.lerp_(p, self.TAU)
        return loss.item()

    def train(self, steps=250):
        obs, _ = self.env.reset(seed=1)
        for t in range(steps):
            if random.random() < 0.3:
                a = self.env.action_space.sample()
            else:
                with torch.no_grad():
                    a = self.policy_net(torch.from_numpy(obs)).argmax().item()
            nxt, r, term, trunc, _ = self.env.step(a)
            self.memory.push(obs, a, self.shaped(nxt, r), nxt, float(term))
            obs = self.env.reset()[0] if term or trunc else nxt
            if len(self.memory) >= 100 and t % 4 == 0:
                loss = self.optimize_model()
                if t % 40 == 0:
                    print(f"t {t} loss {loss:.4f}")


if __name__ == "__main__":
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    Trainer(gym.make("CartPole-v1")).train()
