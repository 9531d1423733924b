"""A handler for SIGTERM ends the program with status 3 from wherever it is, after cleaning up."""
# watch: --trace always
import atexit
import signal
import sys

import torch


def leave(number, frame):
    print("asked to leave")
    sys.exit(3)


signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGTERM))
atexit.register(print, "cleaned up")
net = torch.nn.Linear(3, 1)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    while True:
        net.zero_grad()
        net(torch.randn(5, 3)).pow(2).mean().backward()
finally:
    print("left the loop")
