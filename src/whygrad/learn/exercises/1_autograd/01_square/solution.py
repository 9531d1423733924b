import torch


def slope(x):
    leaf = torch.tensor(x, requires_grad=True)
    y = leaf**2
    y.backward()
    return leaf.grad
