import torch


def gae(rewards, values, done, gamma, lam):
    advantages = torch.zeros(len(rewards))
    following = 0.0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * (1 - done[t]) * values[t + 1] - values[t]
        following = delta + gamma * lam * (1 - done[t]) * following
        advantages[t] = following
    return advantages
