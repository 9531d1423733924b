import torch
from torch.nn.functional import mse_loss


def critic_loss(critics, target_critics, batch, next_actions, next_log_probs, alpha, gamma):
    with torch.no_grad():
        joined = torch.cat([batch["next_states"], next_actions], 1)
        one, other = (critic(joined).squeeze(1) for critic in target_critics)
        following = torch.minimum(one, other) - alpha * next_log_probs
        target = batch["rewards"] + gamma * (1 - batch["done"]) * following
    joined = torch.cat([batch["states"], batch["actions"]], 1)
    return sum(mse_loss(critic(joined).squeeze(1), target) for critic in critics)
