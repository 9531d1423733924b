"""Closes stderr in one of several ways, trains, and ends in one of several ways."""
# args: object return
# args: object text
# args: descriptor return
# args: descriptor text
# args: reused return
# args: both text
import os
import sys

import torch

what, how = sys.argv[1:]
if what in ("object", "both"):
    sys.stderr.close()
if what in ("descriptor", "both"):
    try:
        os.close(2)
    except OSError as error:
        print("closed already", error.errno)
if what == "both":
    sys.stdout.flush()
    os.close(1)
    sys.stdout = open("out.txt", "w")
if what == "reused":
    os.close(2)
    file = open("data.txt", "w")
    print("gets number", file.fileno(), file=file)
net = torch.nn.Linear(3, 1)
for _ in range(3):
    net.zero_grad()
    net(torch.ones(3)).sum().backward()
print("trained")
if how == "text":
    sys.exit("nobody will read this")
