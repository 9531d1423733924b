"""A timer's handler raises an exception in the middle of updates, again and again; each one is caught."""
# watch: --trace always
import signal

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
raised = caught = 0
armed = False


class Late(Exception):
    pass


def ring(number, frame):
    global raised, armed
    if armed:
        armed = False
        raised += 1
        raise Late


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
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.0017)
for _ in range(20_000):
    torch.set_grad_enabled(True)
    try:
        armed = True
        update()
        armed = False
    except Late:
        caught += 1
    if raised >= 150:
        break
signal.setitimer(signal.ITIMER_REAL, 0)
print("enough", raised >= 150, "lost", raised - caught)
