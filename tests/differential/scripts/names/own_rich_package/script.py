"""Has a package of its own called rich, with a console in it."""
# start: command module
import torch
from rich.console import Console
from rich.table import rows

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
print(Console().mine, rows)
