"""Autograd functions of its own, in every style, with counters in forward, backward and set-up."""
from collections import Counter

import torch

counts = Counter()


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        counts["forward"] += 1
        ctx.save_for_backward(x)
        ctx.limit = limit
        return x.clamp(-limit, limit)

    @staticmethod
    def backward(ctx, grad):
        counts["backward"] += 1
        (x,) = ctx.saved_tensors
        return grad * (x.abs() < ctx.limit), None


class Twice(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        counts["plain forward"] += 1
        return x * 2, x + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        counts["context"] += 1
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        counts["plain backward"] += 1
        return grad * 2


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        counts["once"] += 1
        return grad * 3


torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
apply = Clamp.apply
for update in range(25):
    out = apply(net(torch.randn(4, 3)), 0.5)
    double, plus = Twice.apply(out)
    loss = Once.apply(double * 1.0).pow(2).mean() + plus.detach().mean() * 0.1
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.func.vmap(lambda x: Twice.apply(x)[0])(torch.ones(2))
print(dict(counts), [p.sum().item() for p in net.parameters()])
print(Clamp.apply.__self__ is Clamp, torch.autograd.gradcheck(lambda x: Twice.apply(x)[0], torch.ones(2, requires_grad=True, dtype=torch.float64)))
