import torch


def actor_loss(critics, states, actions, log_probs, alpha):
    joined = torch.cat([states, actions], 1)
    one, other = (critic(joined).squeeze(1) for critic in critics)
    value = torch.minimum(one, other)
    return (alpha * log_probs - value).mean()
