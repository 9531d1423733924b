"""Takes Ctrl-C into its own hands: the first asks to stop after this update, the second is an error."""
import os
import signal

import torch

stopping = 0


class Impatient(Exception):
    pass


def asked(number, frame):
    global stopping
    stopping += 1
    if stopping > 1:
        raise Impatient("twice")


before = signal.signal(signal.SIGINT, asked)
print(before is signal.default_int_handler)
net = torch.nn.Linear(3, 1)
try:
    for update in range(10):
        net.zero_grad()
        net(torch.ones(3)).sum().backward()
        if update in (3, 5):
            os.kill(os.getpid(), signal.SIGINT)
except Impatient as error:
    print("stopped", update, stopping, error)
signal.signal(signal.SIGINT, before)
os.kill(os.getpid(), signal.SIGINT)
