"""Ends with an exception from inside torch, before, during and after the updates that are looked at most."""
# args: 1 functional
# args: 1 backward
# args: 1 module
# args: 30 twice
import sys

import torch
import torch.nn.functional as F

moment, where = int(sys.argv[1]), sys.argv[2]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(3, 2)

    @torch.no_grad()
    def act(self, x):
        return self.body(x)

    def forward(self, x):
        return self.body(x).tanh()


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for update in range(40):
    out = net(torch.randn(4, 3))
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    if update == moment:
        if where == "functional":
            F.cross_entropy(F.softmax(out, dim=-1), torch.ones(3, dtype=torch.long))
        elif where == "module":
            net.act(torch.ones(5))
        elif where == "twice":
            loss.backward()
        else:
            out.sum(dim=0).backward()
    optimizer.step()
