"""A thread ends with an exception from inside torch; another one leaves by sys.exit, which ends nothing else."""
# args: 1
# args: 30
import sys
import threading

import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def fail():
    torch.nn.functional.cross_entropy(net(torch.ones(2, 3)), torch.ones(3, dtype=torch.long))


def leave():
    net(torch.ones(3)).sum().backward()
    sys.exit("a thread that nobody hears")


for update in range(40):
    optimizer.zero_grad()
    net(torch.randn(4, 3)).pow(2).mean().backward()
    optimizer.step()
    if update == int(sys.argv[1]):
        for work in (fail, leave):
            thread = threading.Thread(target=work, name=work.__name__)
            thread.start()
            thread.join()
print("went on", net.weight.sum().item())
