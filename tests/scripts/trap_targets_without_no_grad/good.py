import copy
import random
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


def net(i, o, out=None):
    return nn.Sequential(nn.Linear(i, 48), nn.ReLU(), nn.Linear(48, o), *([out] if out else []))


class DDPG:
    def __init__(self):
        self.actor, self.critic = net(3, 1, nn.Tanh()), net(4, 1)
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.opt_a = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def act(self, obs):
        a = self.actor(torch.from_numpy(obs)).detach().numpy()
        return np.clip(a + np.random.normal(0, 0.2, 1), -1, 1).astype(np.float32)

    def update(self, batch):
        s, a, r, s2 = batch
        next_q = self.critic_t(torch.cat([s2, self.actor_t(s2)], 1))
        y = r + 0.98 * next_q
        loss_c = nn.functional.mse_loss(self.critic(torch.cat([s, a], 1)), y)
        self.opt_c.zero_grad()
        loss_c.backward()
        self.opt_c.step()
        loss_a = -self.critic(torch.cat([s, self.actor(s)], 1)).mean()
        self.opt_a.zero_grad()
        loss_a.backward()
        self.opt_a.step()
        for src, dst in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
            for p, q in zip(src.parameters(), dst.parameters()):
                q.data.copy_(0.01 * p.data + 0.99 * q.data)
        return loss_c.item(), loss_a.item()


def main():
    random.seed(0), np.random.seed(0), torch.manual_seed(0)
    env = gym.make("Pendulum-v1")
    agent, mem = DDPG(), []
    obs, _ = env.reset(seed=0)
    for t in range(200):
        a = agent.act(obs)
        nxt, r, term, trunc, _ = env.step(2 * a)
        mem.append((obs, a, np.float32([r / 10]), nxt))
        obs = env.reset()[0] if term or trunc else nxt
        if t >= 80 and t % 3 == 0:
            rows = random.sample(mem, 32)
            losses = agent.update([torch.from_numpy(np.stack(c)) for c in zip(*rows)])
            if t % 30 == 0:
                print(t, losses)


if __name__ == "__main__":
    main()
