import copy

import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Boiler:
    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.water = self.rng.uniform(35, 65)
        self.demand = self.rng.uniform(45, 60)
        self.t = 0
        return self.obs()

    def obs(self):
        return np.array([(self.water - 50) / 15, (self.demand - 50) / 15], dtype=np.float32)

    def step(self, degrees):
        self.water += 0.5 * degrees + 0.2 * self.rng.normal()
        self.water = float(np.clip(self.water, 20, 80))
        self.demand = float(np.clip(self.demand + 0.5 * self.rng.normal(), 40, 65))
        self.t += 1
        return self.obs(), -abs(self.water - self.demand) / 10, self.t >= 20


class Actor(nn.Module):
    """Change of temperature in whole degrees, between -8 and 8."""

    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(2, 32)
        self.l2 = nn.Linear(32, 1)

    def forward(self, obs):
        return 8 * torch.tanh(self.l2(torch.relu(self.l1(obs))))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(3, 32)
        self.l2 = nn.Linear(32, 1)

    def forward(self, obs, degrees):
        return self.l2(torch.relu(self.l1(torch.cat([obs, degrees / 8], dim=1))))


class DDPG:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)

    def setpoint(self, actor, obs):
        return torch.round(actor(obs))

    def update(self, obs, act, rew, nxt):
        with torch.no_grad():
            y = rew + 0.9 * self.critic_t(nxt, self.setpoint(self.actor_t, nxt))
        critic_loss = nn.functional.mse_loss(self.critic(obs, act), y)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        actor_loss = -self.critic(obs, self.actor(obs)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()

        with torch.no_grad():
            for net, old in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
                for p, q in zip(net.parameters(), old.parameters()):
                    q += 0.05 * (p - q)
        return critic_loss.item(), actor_loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    rng, env, agent, data = np.random.default_rng(0), Boiler(), DDPG(), []
    for episode in range(12):
        obs, done, total = env.reset(), False, 0.0
        while not done:
            with torch.no_grad():
                a = torch.round(agent.actor(torch.from_numpy(obs)[None]))[0].numpy()
            a = np.clip(np.round(a + 2 * rng.normal(size=1)), -8, 8).astype(np.float32)
            nxt, r, done = env.step(a[0])
            data.append((obs, a, np.array([r], np.float32), nxt))
            obs, total = nxt, total + r
            if len(data) >= 60 and len(data) % 4 == 0:
                pick = rng.integers(0, len(data), 32)
                losses = agent.update(*(torch.from_numpy(np.stack(c)) for c in zip(*[data[i] for i in pick])))
        if episode >= 3 and episode % 2:
            print("episode %2d  return %7.2f  critic %.4f  actor %.4f" % (episode, total, *losses))
