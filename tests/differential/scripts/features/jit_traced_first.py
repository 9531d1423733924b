"""Traces a function with torch.jit before anything else, then a module, and trains the result."""
import torch


def squared(x):
    return (x * 2 + 1).relu().pow(2).sum(dim=-1)


torch.manual_seed(0)
traced = torch.jit.trace(squared, torch.ones(2, 3))
print(traced.code)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
fast = torch.jit.trace(net, torch.ones(2, 3), check_inputs=[(torch.zeros(2, 3),)])
print([node.kind() for node in fast.inlined_graph.nodes()])
for update in range(6):
    net.zero_grad()
    fast(torch.randn(4, 3)).pow(2).mean().backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
net.requires_grad_(False)
again = torch.jit.trace(lambda x: net(x) - squared(x)[:, None], torch.ones(2, 3))
print(again(torch.ones(2, 3)).flatten().tolist(), [p.sum().item() for p in net.parameters()])
