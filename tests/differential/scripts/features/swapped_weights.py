"""Modules whose parameters are swapped when they are converted, in mid-run."""
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def train(updates, kind):
    for _ in range(updates):
        loss = (net(torch.randn(8, 4, dtype=kind)) - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(30, torch.float32)
optimizer.zero_grad()
torch.__future__.set_swap_module_params_on_conversion(True)
first = [id(p) for p in net.parameters()]
net.to(torch.float64)
print([p.dtype for p in net.parameters()], first == [id(p) for p in net.parameters()])
train(30, torch.float64)
print(sum(p.sum().item() for p in net.parameters()))
