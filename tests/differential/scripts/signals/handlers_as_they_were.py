"""Lists the handlers, masks and timers that it finds, at the start and after some training."""
import faulthandler
import signal
import sys

import torch


def listed():
    for number in sorted(signal.valid_signals()):
        handler = signal.getsignal(number)
        if handler is not signal.SIG_DFL:
            print(int(number), handler.__name__ if callable(handler) else handler)
    print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getitimer(signal.ITIMER_REAL), signal.set_wakeup_fd(-1))
    print(faulthandler.is_enabled(), sys.gettrace(), sys.getprofile(), sys.getswitchinterval())


listed()
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(10):
    optimizer.zero_grad()
    net(torch.ones(3)).sum().backward()
    optimizer.step()
listed()
