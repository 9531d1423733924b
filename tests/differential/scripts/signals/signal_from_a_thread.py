"""A thread sends SIGUSR1 to the main one, whose handler raises something that is no ordinary exception."""
# watch: --trace always
import random
import signal
import threading
import time

import torch


class Halt(BaseException):
    pass


def halt(number, frame):
    raise Halt


signal.signal(signal.SIGUSR1, halt)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
ready, SHOTS, main = threading.Event(), 120, threading.get_ident()


def shoot():
    chance = random.Random(3)
    for _ in range(SHOTS):
        ready.wait()
        ready.clear()
        time.sleep(0.0005 + chance.random() * 0.003)
        signal.pthread_kill(main, signal.SIGUSR1)


def update():
    with torch.no_grad():
        goal = net(torch.ones(4, 3)) * 0.9
    net.zero_grad()
    (net(torch.randn(4, 3)) - goal).pow(2).mean().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)


for _ in range(3):
    update()
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
    except Halt:
        caught += 1
thread.join()
print("sent", SHOTS, "caught", caught)
