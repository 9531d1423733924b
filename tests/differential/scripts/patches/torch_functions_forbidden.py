"""Functions of torch's that a test replaces while it trains: to count them, to say that there is a device, to forbid
them. What is counted are the script's own calls."""

# args: forbidden
# args: counted
# args: pretended
import sys
from unittest import mock

import torch

FUNCTIONS = ["torch.stack", "torch.cat", "torch.equal", "torch.isfinite", "torch._foreach_norm", "torch.autograd.grad",
             "torch.tensor", "torch.count_nonzero", "torch.bincount", "torch.aminmax"]  # fmt: skip
how = sys.argv[1]
torch.manual_seed(9)
net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.03)


def train(updates):
    for _ in range(updates):
        out = net(torch.randn(5, 4))
        loss = out[:, 0].square().mean() + 0.2 * out[:, 1].tanh().abs().mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(net.parameters(), 0.3)
        optimizer.step()


def replaced(name):
    if how == "forbidden":
        return mock.patch(name, side_effect=AssertionError(f"{name} is not to be called"))
    target, _, attribute = name.rpartition(".")
    owner = torch.autograd if target.endswith("autograd") else torch
    return mock.patch(name, wraps=getattr(owner, attribute))


for name in FUNCTIONS if how != "pretended" else ["torch.cuda.is_initialized"]:
    train(1)
    patch = replaced(name) if how != "pretended" else mock.patch(name, return_value=True)
    with patch as mocked:
        train(7)
    print(name, mocked.call_count if how != "pretended" else "")
train(9)
with mock.patch("torch.is_grad_enabled", wraps=torch.is_grad_enabled) as asked:
    train(5)
print([weight.sum().item().hex() for weight in net.parameters()])
