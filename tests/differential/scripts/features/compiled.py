"""Trains through torch.compile with a backend that needs no compiler."""
# args: eager
# args: aot_eager
import sys

import torch
import torch._dynamo.testing

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
counter = torch._dynamo.testing.CompileCounterWithBackend(sys.argv[1])
fast = torch.compile(net, backend=counter)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


@torch.compile(backend=counter, fullgraph=True)
def error(out, goal):
    return (out - goal).pow(2).mean()


for update in range(12):
    with torch.no_grad():
        goal = fast(torch.ones(4, 3)) * 0.9
    loss = error(fast(torch.randn(4, 3)), goal)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
print("graphs", counter.frame_count, "operations", counter.op_count)
print([p.sum().item() for p in net.parameters()])
print(torch._dynamo.utils.counters["graph_break"])
