"""Filters come from the environment and the command line, and name modules."""
# env: PYTHONWARNINGS=error::UserWarning:__main__,ignore::DeprecationWarning
# flags: -W always::FutureWarning -W default::ResourceWarning
import sys
import warnings

import torch
import torch.nn.functional as F

print(sys.warnoptions)
print([entry[0] for entry in warnings.filters[:4]], len(warnings.filters))
net = torch.nn.Linear(3, 2)
for update in range(8):
    out = net(torch.ones(4, 3))
    for work in (lambda: F.softmax(out), lambda: torch.ones(1).std(), lambda: F.mse_loss(out, torch.ones(2)),
                 lambda: warnings.warn("mine"), lambda: torch.tensor(out)):
        try:
            work()
            print("passed", end=" ")
        except UserWarning as warning:
            print("raised", end=" ")
    print()
    warnings.warn("soon", FutureWarning)
    warnings.warn("old", DeprecationWarning)
    net.zero_grad()
    out.sum().backward()
