"""Sends descriptor 2 elsewhere: into a file, into a pipe that nobody reads, onto stdout, and writes to it directly."""
# args: file
# args: pipe
# args: stdout
# args: replaced
import os
import sys

import torch

kind = sys.argv[1]
if kind == "file":
    target = os.open("err.txt", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    os.dup2(target, 2)
elif kind == "pipe":
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, 2)
elif kind == "stdout":
    os.dup2(1, 2)
else:
    sys.stderr = open("mine.txt", "w", buffering=1)
net = torch.nn.Linear(3, 1)
for update in range(3):
    net.zero_grad()
    net(torch.ones(3)).sum().backward()
    try:
        os.write(2, b"directly\n")
        print("by print", update, file=sys.stderr, flush=True)
    except BrokenPipeError as error:
        print("broken", error.errno, flush=True)
print("done", flush=True)
if kind == "pipe":
    sys.stderr = None
