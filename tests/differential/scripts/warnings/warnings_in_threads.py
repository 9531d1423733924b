"""Warns from threads and while filters are changed by a context."""
import threading
import warnings

import torch
import torch.nn.functional as F

net = torch.nn.Linear(3, 2)
out = net(torch.ones(4, 3))


def work(number):
    warnings.warn("from a thread")
    F.softmax(net(torch.ones(2, 3)))
    torch.ones(1).std()


for number in range(4):
    thread = threading.Thread(target=work, args=(number,), name=f"worker {number}")
    thread.start()
    thread.join()
    if number == 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work(number)
    net.zero_grad()
    out = net(torch.ones(4, 3))
    out.sum().backward()
work(4)
torch.set_warn_always(True)
for _ in range(2):
    torch.ones(3).T
    torch.tensor(out)
