"""Shows and formats warnings in its own way, for a while, and then as before."""
import os
import warnings

import torch
import torch.nn.functional as F

before = warnings.showwarning


def show(message, category, filename, lineno, file=None, line=None):
    print("shown:", category.__name__, os.path.basename(filename), lineno, str(message)[:40], file, line)


def shape(message, category, filename, lineno, line=None):
    return f"<{category.__name__} {os.path.basename(filename)}:{lineno} {str(message)[:40]} {line}>\n"


warnings.simplefilter("always")
net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for update in range(16):
    if update == 3:
        warnings.showwarning = show
    if update == 9:
        warnings.showwarning = before
        warnings.formatwarning = shape
    out = net(torch.ones(4, 3))
    if update in (0, 4, 8, 10, 15):
        F.softmax(out)
        F.mse_loss(out, torch.ones(2))
        torch.ones(1).std()
        warnings.warn("mine")
    optimizer.zero_grad()
    out.sum().backward()
    optimizer.step()
