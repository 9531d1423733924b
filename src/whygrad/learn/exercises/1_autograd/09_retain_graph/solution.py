import torch


def both(w, x):
    weight = torch.tensor(w, requires_grad=True)
    shared = (weight * x) ** 2
    one = shared * 2
    two = shared * 5
    one.backward(retain_graph=True)
    two.backward()
    return weight.grad, shared
