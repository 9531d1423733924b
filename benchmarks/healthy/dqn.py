"""DQN down a corridor of doors: replay memory, a target network synchronised every few updates."""

import hashlib
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    """Six doors; each opens with one of two buttons. The last one pays 1, every press costs a little."""

    length = 6

    def reset(self):
        self.cell, self.time = 0, 0
        return self.observe()

    def observe(self):
        return torch.tensor([self.cell / self.length, float(self.cell % 2)])

    def step(self, action):
        self.cell = self.cell + 1 if action == self.cell % 2 else max(0, self.cell - 1)
        self.time += 1
        arrived = self.cell == self.length
        return self.observe(), 1.0 if arrived else -0.02, arrived, self.time >= 25


class QNetwork(nn.Module):
    def __init__(self, n_obs, n_actions, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, n_actions)

    def forward(self, obs):
        return self.head(self.body(obs))


class Agent:
    def __init__(self, gamma=0.97, batch_size=32):
        self.q_net = QNetwork(2, 2)
        self.target_net = QNetwork(2, 2)
        self.target_net.load_state_dict(self.q_net.state_dict())
        self.optimizer = torch.optim.Adam(self.q_net.parameters(), lr=3e-3)
        self.memory = deque(maxlen=2000)
        self.losses = []
        self.gamma, self.batch_size = gamma, batch_size

    def act(self, obs, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return self.q_net(obs).argmax().item()

    def update(self):
        obs, action, reward, next_obs, done = zip(*random.sample(self.memory, self.batch_size), strict=True)
        obs, next_obs = torch.stack(obs), torch.stack(next_obs)
        action, reward, done = torch.tensor(action), torch.tensor(reward), torch.tensor(done).float()
        with torch.no_grad():
            next_q = self.target_net(next_obs).max(1).values
            td_target = reward + self.gamma * next_q * (1 - done)
        q_sa = self.q_net(obs).gather(1, action[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q_sa, td_target)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q_net.parameters(), 0.02)
        self.optimizer.step()
        self.losses.append(loss.item())

    def sync(self):
        self.target_net.load_state_dict(self.q_net.state_dict())


def digest(*modules):
    weights = [tensor.tolist() for module in modules for tensor in module.state_dict().values()]
    return hashlib.sha256(repr(weights).encode()).hexdigest()


def main(steps=220):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random.seed(0)
    env, agent = Corridor(), Agent()
    obs = env.reset()
    for step in range(steps):
        action = agent.act(obs, epsilon=max(0.1, 1 - step / 150))
        next_obs, reward, done, cut_off = env.step(action)
        agent.memory.append((obs, action, reward, next_obs, done))
        obs = env.reset() if done or cut_off else next_obs
        if step >= 60 and step % 2 == 0:
            agent.update()
        if step % 30 == 0:
            agent.sync()
    print(f"updates {len(agent.losses)}  loss {agent.losses[0]:.4f} -> {agent.losses[-1]:.4f}")
    print("weights", digest(agent.q_net, agent.target_net))


if __name__ == "__main__":
    main()
