"""Watches its own files with an audit hook: what is opened for writing, what is started, what is sent."""
import os
import sys

import torch

events = []
home = os.getcwd()


def audit(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
        if ".whygrad" not in arguments[0] and not arguments[0].startswith(os.environ["TMPDIR"]):
            events.append(os.path.relpath(arguments[0], home))
    elif event.startswith(("subprocess", "socket", "os.system", "os.fork", "shutil", "ctypes.dlopen")):
        events.append(event)


sys.addaudithook(audit)
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for update in range(25):
    loss = net(torch.randn(4, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with open("log.txt", "w") as file:
    file.write("mine")
print(events)
