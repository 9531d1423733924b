"""Plans memory with fake tensors and the meta device before it trains for real."""
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

torch.manual_seed(0)


def planned(net, x):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(3):
        out = net(x)
        optimizer.zero_grad()
        out.pow(2).mean().backward()
        optimizer.step()
    return tuple(out.shape), out.device.type, sum(p.grad.numel() for p in net.parameters())


with FakeTensorMode() as mode:
    print(planned(torch.nn.Linear(3, 2), torch.empty(5, 3)))
    fake = mode.from_tensor(torch.ones(3))
    print(type(fake).__name__, tuple((fake * 2).shape))
with torch.device("meta"):
    print(planned(torch.nn.Linear(3, 2), torch.empty(7, 3)))
net = torch.nn.Linear(3, 2)
print(planned(net, torch.ones(5, 3)), [p.sum().item() for p in net.parameters()])
with FakeTensorMode(allow_non_fake_inputs=True):
    print(tuple(net(torch.empty(4, 3)).shape))
