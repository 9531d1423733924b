import copy
import random
from collections import deque

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
OBS_SCALE = np.array([1.0, 1.0, 0.125], dtype=np.float32)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(3, 48), nn.Linear(48, 1)

    def forward(self, s):
        return 2 * torch.tanh(self.fc2(torch.tanh(self.fc1(s))))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 48), nn.Linear(48, 1)

    def forward(self, s, a):
        return self.fc2(torch.tanh(self.fc1(torch.cat([s, a / 2], 1))))


class DDPGAgent:
    def __init__(self, gamma=0.9, sync_every=20, batch=64):
        self.actor, self.critic = Actor(), Critic()
        self.actor_target = copy.deepcopy(self.actor)
        self.critic_target = copy.deepcopy(self.critic)
        self.actor_optim = torch.optim.Adam(self.actor.parameters(), lr=2e-4)
        self.critic_optim = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.memory = deque(maxlen=5000)
        self.gamma, self.sync_every, self.batch = gamma, sync_every, batch
        self.learn_steps = 0

    def choose_action(self, state, sigma=0.3):
        with torch.no_grad():
            a = self.actor(torch.as_tensor(state).unsqueeze(0))[0].numpy()
        return np.clip(a + sigma * np.random.randn(1), -2, 2).astype(np.float32)

    def learn(self):
        rows = random.sample(self.memory, self.batch)
        s, a, r, s2 = (torch.as_tensor(np.stack(c)) for c in zip(*rows))
        with torch.no_grad():
            a2 = self.actor_target(s2)
            y = r.unsqueeze(1) + self.gamma * self.critic_target(s2, a2)
        critic_loss = F.mse_loss(self.critic(s, a), y)
        self.critic_optim.zero_grad()
        critic_loss.backward()
        self.critic_optim.step()

        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()

        self.learn_steps += 1
        if self.learn_steps > 0 and self.learn_steps % self.sync_every == 0:
            self.hard_update()
        return critic_loss.item(), actor_loss.item()

    def hard_update(self):
        self.actor_target.load_state_dict(self.actor.state_dict())
        self.critic_target.load_state_dict(self.critic.state_dict())


def main():
    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    env, agent = gym.make("Pendulum-v1"), DDPGAgent()
    for episode in range(3):
        s = env.reset(seed=episode)[0] * OBS_SCALE
        total, c, a = 0.0, 0.0, 0.0
        for _ in range(120):
            act = agent.choose_action(s)
            s2, r, term, trunc, _ = env.step(act)
            s2 = s2 * OBS_SCALE
            agent.memory.append((s, act, np.float32(r / 8), s2))
            s, total = s2, total + float(r)
            if len(agent.memory) > agent.batch:
                c, a = agent.learn()
        print(f"episode {episode} return {total:.1f} critic {c:.4f} actor {a:+.4f}")


if __name__ == "__main__":
    main()
