"""Closes every descriptor but the first three, as daemons do, and opens its data file afterwards."""
import os

import torch

net = torch.nn.Linear(3, 1)
os.closerange(3, 256)
data = [open(f"data{number}.txt", "w") for number in range(6)]
net(torch.ones(3)).sum().backward()
for file in data:
    print("mine", file=file, flush=True)
print([file.fileno() for file in data] == sorted(file.fileno() for file in data))
