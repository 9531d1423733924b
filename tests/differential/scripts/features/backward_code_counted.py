"""Code of the script's that runs inside a backward, counted: it runs as often as without anybody watching.

Operators with a derivative of their own, functions below vmap, hooks on autograd's nodes.
"""

# args: operator
# args: mapped
# args: nodes
# args: gradient edges
import sys
from collections import Counter

import torch

calls = Counter()


@torch.library.custom_op("house::bent", mutates_args=())
def bent(x: torch.Tensor) -> torch.Tensor:
    return x.sin() * x


def derivative(ctx, grad):
    calls["operator"] += 1
    return grad * (ctx.x.cos() * ctx.x + ctx.x.sin())


def remember(ctx, inputs, output):
    (ctx.x,) = inputs


bent.register_autograd(derivative, setup_context=remember)


class Cubed(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        calls["mapped"] += 1
        return 3 * ctx.saved_tensors[0] ** 2 * grad


def counted(name):
    def hook(*_):
        calls[name] += 1

    return hook


def losses(how, out):
    if how == "operator":
        return torch.ops.house.bent(out).mean(), 0.3 * bent(out).square().mean()
    if how == "mapped":
        return torch.vmap(Cubed.apply)(out).mean(), out.square().mean()
    first, second = out.square().mean(), 0.3 * out.exp().mean()
    if how == "nodes":
        node = second.grad_fn.next_functions[0][0]
        node.register_hook(counted("after"))
        node.register_prehook(counted("before"))
    else:
        torch.autograd.graph.get_gradient_edge(out).node.register_hook(counted("edge"))
    return first, second


torch.manual_seed(2)
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
for turn in range(14):
    optimizer.zero_grad()
    one, two = losses(sys.argv[1], net(torch.randn(6, 4)))
    (one + two).backward()
    optimizer.step()
print(sorted(calls.items()))
print(net.weight)
