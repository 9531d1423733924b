"""A ratio that starts at one.

Task: do several epochs of PPO on the same data. The old log-probabilities are those of the policy before the first epoch,
computed once and without gradient. In the first epoch the ratio is therefore exactly 1, later it moves. Return the mean
distance of the ratio from 1 in each epoch.
"""

import torch


def log_prob(policy, states, actions):
    return torch.log_softmax(policy(states), dim=1).gather(1, actions.unsqueeze(1)).squeeze(1)


def update(policy, optimizer, states, actions, advantages, epochs):
    distances = []
    old = ...  # TODO: computed once, a constant
    for _ in range(epochs):
        ratio = ...  # TODO
        distances.append((ratio - 1).abs().mean().item())
        loss = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return distances
