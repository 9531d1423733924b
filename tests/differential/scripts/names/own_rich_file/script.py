"""Has a module of its own called rich."""
# start: command module
import rich
import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
print(rich.wealth, getattr(rich, "__path__", None), rich.__spec__.name)
