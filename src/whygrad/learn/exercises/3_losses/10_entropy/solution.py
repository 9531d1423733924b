import torch


def with_bonus(policy_loss, logits, weight):
    log_probs = torch.log_softmax(logits, dim=1)
    entropy = -(log_probs.exp() * log_probs).sum(1)
    return policy_loss - weight * entropy.mean()
