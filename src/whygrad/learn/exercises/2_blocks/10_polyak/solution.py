import torch


def follow(q_net, target_net, tau):
    with torch.no_grad():
        for old, new in zip(target_net.parameters(), q_net.parameters(), strict=True):
            old.mul_(1 - tau).add_(tau * new)
