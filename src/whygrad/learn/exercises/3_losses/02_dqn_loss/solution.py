import torch


def dqn_loss(q_net, states, actions, target):
    values = q_net(states)
    taken = values.gather(1, actions.unsqueeze(1)).squeeze(1)
    return torch.nn.functional.mse_loss(taken, target)
