"""Runs as strictly as Python can: bytes, encodings and every warning are errors, no positions in the code."""
# flags: -bb -X warn_default_encoding -X no_debug_ranges -W error
import sys

import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(12):
    optimizer.zero_grad()
    net(torch.randn(4, 3)).pow(2).mean().backward()
    optimizer.step()
print(sys.flags.bytes_warning, sys.flags.warn_default_encoding, net.weight.sum().item())
open("data.txt", "w")
