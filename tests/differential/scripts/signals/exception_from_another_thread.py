"""A thread throws an exception into the main one while it trains; what is thrown arrives."""
# args: custom
# args: RuntimeError
# args: OSError
# watch: --trace always
import ctypes
import random
import sys
import threading
import time

import torch


class Stopped(Exception):
    pass


kind = {"custom": Stopped, "RuntimeError": RuntimeError, "OSError": OSError}[sys.argv[1]]
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
ready, main, sent = threading.Event(), threading.get_ident(), 0
SHOTS = 80


def update():
    optimizer.zero_grad()
    net(torch.randn(4, 3)).pow(2).mean().backward()
    optimizer.step()


def shoot():
    global sent
    chance = random.Random(1)
    for _ in range(SHOTS):
        ready.wait()
        ready.clear()
        time.sleep(0.001 + chance.random() * 0.004)
        sent += ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(kind))


for _ in range(3):
    update()  # What torch imports at its first step swallows exceptions by itself.
thread = threading.Thread(target=shoot, daemon=True)
thread.start()
caught = 0
for _ in range(SHOTS):
    torch.set_grad_enabled(True)
    try:
        ready.set()
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            update()
    except kind:
        caught += 1
thread.join()
print("sent", sent, "caught", caught)
