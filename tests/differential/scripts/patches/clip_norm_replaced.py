"""Puts a clipping rule of its own in the place of torch's before the first update."""
import hashlib

import torch

calls = 0


def clip_by_mean(parameters, limit, *rest, **named):
    global calls
    calls += 1
    parameters = list(parameters)
    mean = torch.stack([p.grad.abs().mean() for p in parameters]).mean()
    for p in parameters:
        p.grad.mul_(limit / (mean + 1.0))
    return mean


torch.nn.utils.clip_grad_norm_ = clip_by_mean
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(60):
    loss = (net(torch.randn(16, 4)) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()
weights = b"".join(p.detach().numpy().tobytes() for p in net.parameters())
print("calls", calls, "weights", hashlib.sha256(weights).hexdigest()[:12])
print("mine", torch.nn.utils.clip_grad_norm_ is clip_by_mean)
