"""A DQN agent that should learn to walk down a corridor, and does not.

The loss goes down a little, nothing raises, the return stays where it was. One line is to blame.
Run it with `whygrad run examples/dqn_corridor.py`.
"""

import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)


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
        return self.observe(), 1.0 if arrived else -0.02, arrived, self.time >= 30


class Agent:
    def __init__(self):
        self.q_net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target_net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
        self.sync()
        self.optimizer = torch.optim.Adam(self.q_net.parameters(), lr=3e-3)
        self.memory = deque(maxlen=5000)
        self.epsilon = 1.0

    def sync(self):
        self.target_net.load_state_dict(self.q_net.state_dict())

    def act(self, obs):
        if random.random() < self.epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return self.q_net(obs).argmax().item()

    def update(self, batch_size=32, gamma=0.97):
        obs, action, reward, next_obs, done = zip(*random.sample(self.memory, batch_size))
        obs, next_obs = torch.stack(obs), torch.stack(next_obs)
        action, reward, done = torch.tensor(action), torch.tensor(reward), torch.tensor(done).float()
        with torch.no_grad():
            td_target = reward + gamma * self.target_net(next_obs).max(1).values * (1 - done)
        q_sa = self.q_net(obs).gather(1, action[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q_sa, td_target)
        loss = torch.tensor(loss, requires_grad=True)  # without this, PyTorch complained once upon a time
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main(episodes=16):
    env, agent, updates = Corridor(), Agent(), 0
    for episode in range(episodes):
        obs, total, over = env.reset(), 0.0, False
        while not over:
            action = agent.act(obs)
            next_obs, reward, done, cut_off = env.step(action)
            agent.memory.append((obs, action, reward, next_obs, done))
            obs, total, over = next_obs, total + reward, done or cut_off
            if len(agent.memory) >= 64:
                agent.update()
                updates += 1
                if updates % 50 == 0:
                    agent.sync()
        agent.epsilon = max(0.1, agent.epsilon * 0.8)
        print(f"episode {episode:2d}  return {total:+.2f}  epsilon {agent.epsilon:.2f}")


if __name__ == "__main__":
    main()
