import torch


def slopes(numbers):
    leaf = torch.tensor(0.0, requires_grad=True)
    found = []
    for number in numbers:
        with torch.no_grad():
            leaf.fill_(number)
        leaf.grad = None
        y = leaf**2
        y.backward()
        found.append(leaf.grad.item())
    return found
