# Homework 3: REINFORCE with a baseline on a slippery corridor.
import random

import torch
from torch import nn

torch.set_num_threads(1)
random.seed(3)
torch.manual_seed(3)

LENGTH = 7
SLIP = 0.1
GAMMA = 0.97
EPISODES = 50


def encode(pos):
    x = torch.zeros(LENGTH)
    x[pos] = 1.0
    return x


def move(pos, action):
    if random.random() < SLIP:
        action = 1 - action
    pos = max(0, pos - 1) if action == 0 else pos + 1
    if pos == LENGTH - 1:
        return pos, 5.0, True
    return pos, -0.2, False


policy = nn.Sequential(nn.Linear(LENGTH, 24), nn.Tanh(), nn.Linear(24, 2))
baseline = nn.Sequential(nn.Linear(LENGTH, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(list(policy.parameters()) + list(baseline.parameters()), lr=5e-3)

history = []
for episode in range(EPISODES):
    pos, done, t = LENGTH // 2, False, 0
    logps, values, rewards = [], [], []
    while not done and t < 40:
        x = encode(pos)
        dist = torch.distributions.Categorical(logits=policy(x))
        action = dist.sample()
        logps.append(dist.log_prob(action))
        values.append(baseline(x).squeeze())
        pos, reward, done = move(pos, action.item())
        rewards.append(reward)
        t += 1

    # discounted returns
    returns = []
    running = 0.0
    for r in rewards[::-1]:
        running = r + GAMMA * running
        returns.append(running)
    returns.reverse()

    returns = torch.as_tensor(returns)
    values = torch.stack(values)
    logps = torch.stack(logps)

    advantage = returns - values.detach()
    policy_loss = -(logps * advantage).sum()
    value_loss = nn.functional.mse_loss(values, returns)
    loss = policy_loss + 0.5 * value_loss

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    history.append(sum(rewards))
    if (episode + 1) % 10 == 0:
        print("episode", episode + 1, "mean return", round(sum(history[-10:]) / 10, 3), "v-loss", round(value_loss.item(), 3))
