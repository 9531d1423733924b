"""Makes graphs of a network with make_fx, symbolic_trace and export, before and after training it."""
import torch
from torch.fx.experimental.proxy_tensor import make_fx

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))


def told(moment):
    made = make_fx(lambda x: net(x).sum())(torch.ones(2, 3))
    print(moment, [node.name for node in made.graph.nodes])
    traced = torch.fx.symbolic_trace(net)
    print(moment, [node.name for node in traced.graph.nodes])
    exported = torch.export.export(net, (torch.ones(2, 3),))
    print(moment, [node.name for node in exported.graph.nodes], exported.graph_signature.user_outputs)
    print(moment, exported.module()(torch.ones(2, 3)).flatten().tolist())


told("before")
for update in range(6):
    net.zero_grad()
    net(torch.randn(4, 3)).pow(2).mean().backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
told("after")
