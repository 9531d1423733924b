import torch


def log_prob(policy, states, actions):
    return torch.log_softmax(policy(states), dim=1).gather(1, actions.unsqueeze(1)).squeeze(1)


def update(policy, optimizer, states, actions, advantages, epochs):
    distances = []
    old = log_prob(policy, states, actions).detach()
    for _ in range(epochs):
        ratio = torch.exp(log_prob(policy, states, actions) - old)
        distances.append((ratio - 1).abs().mean().item())
        loss = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return distances
