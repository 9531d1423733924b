"""Ends without any farewell: by os._exit, abort, or a signal to itself."""
# args: _exit
# args: abort
# args: KILL
# args: TERM
# args: INT
import os
import signal
import sys
import time

import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
print("trained", flush=True)
print("this is not flushed", end="")
how = sys.argv[1]
if how == "_exit":
    os._exit(17)
elif how == "abort":
    os.abort()
os.kill(os.getpid(), getattr(signal, f"SIG{how}"))
time.sleep(5)
