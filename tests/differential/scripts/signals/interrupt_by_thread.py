"""`interrupt_main` from a thread is a KeyboardInterrupt that the script counts."""
# watch: --trace always
import _thread
import random
import threading
import time

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
ready, SHOTS = threading.Event(), 120


def shoot():
    chance = random.Random(2)
    for _ in range(SHOTS):
        ready.wait()
        ready.clear()
        time.sleep(0.0005 + chance.random() * 0.003)
        _thread.interrupt_main()


thread = threading.Thread(target=shoot, daemon=True)
thread.start()
caught = 0
for _ in range(SHOTS):
    try:
        ready.set()
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            net.zero_grad()
            hidden = [torch.randn(4, 3) for _ in range(4)]
            net(torch.cat(hidden)).pow(2).mean().backward()
    except KeyboardInterrupt:
        caught += 1
thread.join()
print("sent", SHOTS, "caught", caught)
