import torch


def ppo_loss(new_log_probs, old_log_probs, advantages, clip):
    ratio = torch.exp(new_log_probs - old_log_probs)
    clipped = ratio.clamp(1 - clip, 1 + clip)
    return -torch.minimum(ratio * advantages, clipped * advantages).mean()
