import torch


def returns(rewards, gamma):
    out, following = [], 0.0
    for reward in reversed(rewards):
        following = reward + gamma * following
        out.insert(0, following)
    return torch.tensor(out)
