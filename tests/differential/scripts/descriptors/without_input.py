"""Is started without a stdin, as by some schedulers, and asks for input at the end."""
# shell: 0<&-
import os
import sys

import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(12):
    optimizer.zero_grad()
    net(torch.ones(3)).sum().backward()
    optimizer.step()
file = open("data.txt", "w")
print(sys.stdin, file.fileno(), os.get_inheritable(file.fileno()))
input("anybody? ")
