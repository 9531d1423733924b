"""Handlers that run at the end ask what ended the script; one of them leaves with a status of its own."""
# args: error
# args: text
# args: leaving
import atexit
import os
import sys
import traceback

import torch

net = torch.nn.Linear(3, 1)


def ask():
    error = getattr(sys, "last_value", None)
    print(type(error).__name__, getattr(sys, "last_type", None))
    for entry in traceback.extract_tb(getattr(sys, "last_traceback", None)):
        print(os.path.basename(entry.filename), entry.lineno, entry.name)
    for entry in traceback.extract_tb(error.__traceback__ if error is not None else None):
        print(os.path.basename(entry.filename), entry.lineno, entry.name)
    sys.stdout.flush()
    if sys.argv[1] == "leaving":
        os._exit(9)


atexit.register(ask)
net(torch.ones(3)).sum().backward()
if sys.argv[1] == "text":
    sys.exit("a text")
net(torch.ones(5))
