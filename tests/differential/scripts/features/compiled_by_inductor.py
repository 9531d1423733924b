"""Trains through torch.compile with its own compiler, the backward included."""
# env: TORCHINDUCTOR_CACHE_DIR=../kept
# env: TORCHINDUCTOR_FX_GRAPH_CACHE=0
# env: TORCHINDUCTOR_AUTOGRAD_CACHE=0
# seconds: 120
import hashlib

import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 2)


@torch.compile(fullgraph=True)
def error(x, goal):
    return (net(x).tanh() - goal).pow(2).mean()


optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for update in range(10):
    optimizer.zero_grad()
    error(torch.randn(4, 3), torch.ones(4, 2)).backward()
    optimizer.step()
weights = b"".join(p.detach().numpy().tobytes() for p in net.parameters())
print(hashlib.sha256(weights).hexdigest()[:12], torch._dynamo.utils.counters["stats"]["unique_graphs"])
