import torch


def weighted(xs, v):
    x = torch.tensor(xs, requires_grad=True)
    y = x**3
    y.backward(gradient=torch.tensor(v))
    return x.grad
