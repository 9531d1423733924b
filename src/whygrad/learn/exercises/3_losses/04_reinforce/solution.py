import torch


def reinforce_loss(policy, states, actions, returns):
    log_probs = torch.log_softmax(policy(states), dim=1)
    taken = log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)
    return -(taken * returns).mean()
