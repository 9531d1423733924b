"""Follows its own lines and calls with settrace, setprofile and a coverage of its own, in threads as well."""
import sys
import threading
from collections import Counter

import torch

lines, calls = Counter(), Counter()


def trace(frame, event, argument):
    if frame.f_code.co_filename != __file__:
        return None
    lines[frame.f_code.co_name, frame.f_lineno, event] += 1
    return trace


def profile(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        calls[frame.f_code.co_name, event, getattr(argument, "__name__", "") if event.startswith("c_") else ""] += 1


def update(net, optimizer):
    with torch.no_grad():
        goal = net(torch.ones(3))
    loss = (net(torch.randn(4, 3)) - goal).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for number in range(12):
    if number == 1:
        sys.settrace(trace)
        threading.settrace(trace)
    if number == 9:
        sys.settrace(None)
        sys.setprofile(profile)
    update(net, optimizer)
    thread = threading.Thread(target=update, args=(net, optimizer))
    thread.start()
    thread.join()
print(sys.gettrace(), sys.getprofile() is profile)
sys.setprofile(None)
for key, count in sorted(lines.items()):
    print(*key, count)
for key, count in sorted(calls.items()):
    print(*key, count)
