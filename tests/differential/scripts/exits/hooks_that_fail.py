"""Has an excepthook that fails, that leaves, or that is no hook at all."""
# args: failing
# args: leaving
# args: missing
# args: None
import sys

import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()


def failing(kind, error, traceback):
    raise TypeError("the hook fails")


def leaving(kind, error, traceback):
    print("the hook leaves")
    sys.exit(31)


if sys.argv[1] == "missing":
    del sys.excepthook
else:
    sys.excepthook = {"failing": failing, "leaving": leaving, "None": None}[sys.argv[1]]
raise ValueError("for the hook")
