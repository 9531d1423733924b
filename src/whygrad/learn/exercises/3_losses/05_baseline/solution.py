import torch


def losses(log_probs, values, returns):
    advantage = returns - values.detach()
    policy_loss = -(log_probs * advantage).mean()
    value_loss = torch.nn.functional.mse_loss(values, returns)
    return policy_loss, value_loss
