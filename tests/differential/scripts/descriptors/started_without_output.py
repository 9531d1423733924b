"""Is started without stdin and stdout."""
# shell: <&- >&-
import os
import sys

import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
numbers = [os.open(f"data{number}.txt", os.O_CREAT | os.O_WRONLY, 0o640) for number in range(2)]
for number in numbers:
    os.write(number, b"mine\n")
print(numbers, sys.stdin is None, sys.stdout is None, file=sys.stderr)
