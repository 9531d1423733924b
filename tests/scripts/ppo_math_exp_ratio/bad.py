import math
import random

import gymnasium as gym
import torch
import torch.nn as nn

torch.set_num_threads(1)


class PPOAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.action_head = nn.Linear(32, 2)
        self.value_head = nn.Linear(32, 1)

    def dist(self, s):
        return torch.distributions.Categorical(logits=self.action_head(self.shared(s)))

    def value(self, s):
        return self.value_head(self.shared(s))[..., 0]


def clipped(ratio, adv, eps=0.2):
    return min(ratio * adv, max(min(ratio, 1 + eps), 1 - eps) * adv)


def sample_loss(agent, step, ret):
    s, a, old_lp = step
    lp = agent.dist(s).log_prob(a)
    v = agent.value(s)
    adv = ret - v.item()
    ratio = math.exp(lp - old_lp)  # <- culprit
    return -clipped(ratio, adv) + 0.5 * (v - ret) ** 2


def play(env, agent, seed):
    traj, rewards = [], []
    obs, _ = env.reset(seed=seed)
    done = False
    while not done and len(traj) < 60:
        s = torch.tensor(obs, dtype=torch.float32)
        with torch.no_grad():
            d = agent.dist(s)
            a = d.sample()
            traj.append((s, a, d.log_prob(a).item()))
        obs, r, term, trunc, _ = env.step(a.item())
        rewards.append(r)
        done = term or trunc
    return traj, rewards


def discounted(rewards, gamma=0.98):
    out, g = [], 0.0
    for r in rewards[::-1]:
        g = r + gamma * g
        out.append(g / 10)
    return out[::-1]


random.seed(0)
torch.manual_seed(0)
env = gym.make("CartPole-v1")
agent = PPOAgent()
opt = torch.optim.Adam(agent.parameters(), lr=3e-3)
for episode in range(10):
    traj, rewards = play(env, agent, episode)
    returns = discounted(rewards)
    for epoch in range(3):
        idx = random.sample(range(len(traj)), min(16, len(traj)))
        loss = sum(sample_loss(agent, traj[i], returns[i]) for i in idx) / len(idx)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("episode", episode, "length", len(rewards), "loss", round(loss.item(), 4))
