"""Compiles modules and functions with torch.jit.script, trains, freezes and stores them."""
import io

import torch


@torch.jit.script
def returns(rewards: torch.Tensor, gamma: float):
    total = torch.zeros(1)
    out = torch.jit.annotate(list[torch.Tensor], [])
    for i in range(rewards.size(0)):
        total = rewards[rewards.size(0) - 1 - i] + gamma * total
        out.append(total)
    return torch.cat(out)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(3, 1)

    def forward(self, x):
        if bool(x.sum() > 0):
            return self.body(x)
        return -self.body(x)


torch.manual_seed(0)
net = torch.jit.script(Net())
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for update in range(8):
    loss = (net(torch.randn(4, 3)).flatten() - returns(torch.ones(4), 0.9)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
frozen = torch.jit.freeze(net.eval())
file = io.BytesIO()
torch.jit.save(frozen, file)
file.seek(0)
print(torch.jit.load(file)(torch.ones(1, 3)).item(), net.code, returns.code)
