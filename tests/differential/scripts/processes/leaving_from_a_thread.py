"""Threads that end the program: os._exit, and a SystemExit that ends only its thread."""
# args: system
# args: hard
import os
import sys
import threading
import time

import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
print("trained", flush=True)


def leave():
    print("leaving", flush=True)
    if sys.argv[1] == "hard":
        os._exit(9)
    raise SystemExit(8)


thread = threading.Thread(target=leave)
thread.start()
thread.join()
time.sleep(0.1)
print("still here", flush=True)
