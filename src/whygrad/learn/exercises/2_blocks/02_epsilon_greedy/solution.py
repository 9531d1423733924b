import torch


def choose(q, epsilon):
    if torch.rand(()).item() < epsilon:
        return int(torch.randint(len(q), ()))
    return int(q.argmax())
