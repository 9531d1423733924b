import random

import torch
from torch import nn

SEED = 7
torch.set_num_threads(1)
random.seed(SEED)
torch.manual_seed(SEED)

LENGTH = 7
GAMMA = 0.95
EPISODES = 150
MAX_T = 25


class Corridor:
    """Walk to the right end; a slippery floor sometimes ignores the move."""

    def reset(self):
        self.pos = random.randrange(0, LENGTH - 2)
        self.t = 0
        return self.pos

    def step(self, action):
        if random.random() > 0.1:
            self.pos += 1 if action == 1 else -1
        self.pos = max(0, min(LENGTH - 1, self.pos))
        self.t += 1
        won = self.pos == LENGTH - 1
        return self.pos, (1.0 if won else -0.05), won or self.t >= MAX_T


def encode(pos):
    x = torch.zeros(LENGTH)
    x[pos] = 1.0
    return x


def discounted(rewards):
    g, out = 0.0, []
    for r in rewards[::-1]:
        g = r + GAMMA * g
        out.append(g)
    return out[::-1]


def build_loss(log_probs, returns, baseline):
    terms = []
    for lp, g in zip(log_probs, returns):
        terms.append(-lp * (g - baseline))
    loss = torch.stack(terms).sum()
    return loss


policy = nn.Sequential(nn.Linear(LENGTH, 24), nn.Tanh(), nn.Linear(24, 2))
optimizer = torch.optim.SGD(policy.parameters(), lr=0.05)
env = Corridor()
baseline = 0.0
recent = []

for episode in range(EPISODES):
    pos, done = env.reset(), False
    log_probs, rewards = [], []
    while not done:
        log_pi = torch.log_softmax(policy(encode(pos)), dim=-1)
        action = torch.multinomial(log_pi.exp().detach(), 1).item()
        log_probs.append(log_pi[action])
        pos, reward, done = env.step(action)
        rewards.append(reward)
    returns = discounted(rewards)

    optimizer.zero_grad()
    loss = build_loss(log_probs, returns, baseline)
    loss.backward()
    optimizer.step()

    baseline = 0.95 * baseline + 0.05 * sum(returns) / len(returns)
    recent.append(len(rewards))
    if (episode + 1) % 30 == 0:
        print(f"ep {episode + 1}: mean length {sum(recent[-30:]) / 30:.1f}, loss {loss.item():.3f}")
