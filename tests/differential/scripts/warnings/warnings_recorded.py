"""Records warnings with `catch_warnings` and prints where each of them comes from."""
import os
import warnings

import numpy
import torch
import torch.nn.functional as F

frozen = numpy.ones(3, dtype=numpy.float32)
frozen.setflags(write=False)


class Critic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(3, 2)

    def forward(self, x):
        return F.softmax(self.body(x))


torch.manual_seed(0)
net = Critic()
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for update in range(25):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        out = net(torch.randn(4, 3))
        loss = F.mse_loss(out, torch.zeros(2))
        F.l1_loss(out, torch.zeros(1, 2))
        torch.tensor(out)
        torch.as_tensor(out).new_tensor(out)
        torch.ones(1).std()
        out.grad
        torch.from_numpy(frozen)
        torch.nn.Linear(0, 2)
        torch.nn.utils.clip_grad_norm(net.parameters(), 1.0)
        torch.sum(torch.ones(1).var())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warnings.warn("my own")
    if update in (0, 1, 7, 20, 24):
        for one in shown:
            print(update, os.path.basename(one.filename), one.lineno, one.category.__name__, str(one.message)[:40],
                  one.line, one.file, one.source)
