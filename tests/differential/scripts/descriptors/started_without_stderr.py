"""Is started with its stderr closed."""
# shell: 2>&-
import sys

import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
print(sys.stdin is None, sys.stdout is None, sys.stderr is None)
with open("data.txt", "w") as file:
    print(file.fileno(), file=file)
sys.exit(4)
