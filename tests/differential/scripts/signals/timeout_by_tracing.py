"""A timeout made of a trace function raises after so many lines, wherever the program is by then."""
# watch: --trace always
import sys

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
raised = caught = left = 0


class Late(Exception):
    pass


def trace(frame, event, argument):
    global left, raised
    left -= 1
    if left <= 0 and event == "line":
        raised += 1
        raise Late
    return trace


def update():
    with torch.no_grad():
        goal = net(torch.ones(4, 3)) * 0.9
    loss = (net(torch.randn(4, 3)) - goal).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()


for _ in range(3):
    update()  # What torch imports at its first step swallows exceptions by itself.
for allowed in range(20, 3000, 31):
    torch.set_grad_enabled(True)
    left = allowed
    try:
        sys.settrace(trace)
        for _ in range(40):
            update()
    except Late:
        caught += 1
    finally:
        sys.settrace(None)
print("raised", raised, "caught", caught)
torch.set_grad_enabled(True)
torch.manual_seed(1)
fresh = torch.nn.Linear(3, 1)
fresh(torch.randn(5, 3)).sum().backward()
print([round(value, 5) for value in fresh.weight.grad.flatten().tolist()])
