"""Weights, gradients and losses that hold their values in another tensor, as sharded and quantised ones do.

Whoever computes with them past their own code reads memory that is not there.
"""

# watch: --budget 100 --log ../outside/log.jsonl
import torch
from torch.utils import _pytree as tree


class Boxed(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner):
        self.inner = inner

    def __repr__(self):
        return f"Boxed({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree.tree_map_only(Boxed, lambda boxed: boxed.inner, (args, kwargs or {}))
        out = func(*args, **kwargs)
        if func is torch.ops.aten.add_.Tensor or func.__name__.startswith(("mul_", "copy_", "clamp_")):
            return args[0] if isinstance(args[0], Boxed) else Boxed(args[0])
        return tree.tree_map_only(torch.Tensor, Boxed, out)


class Doubled(torch.autograd.Function):
    """Its gradient comes out boxed."""

    @staticmethod
    def forward(ctx, x):
        return x.inner * 2

    @staticmethod
    def backward(ctx, grad):
        return Boxed(grad * 2)


torch.manual_seed(1)
weight = torch.nn.Parameter(Boxed(torch.randn(3, 2)))
for turn in range(9):
    weight.grad = None
    hidden = Boxed(torch.randn(4, 3)) @ weight
    hidden.register_hook(lambda grad: grad * 0.5)
    (hidden.tanh().square().mean() + 0.1 * weight.abs().sum()).backward()
    torch.nn.utils.clip_grad_value_([weight], 0.2)
    with torch.no_grad():
        weight.inner.sub_(weight.grad.inner, alpha=0.1)
print(weight)

weight.grad = None
Doubled.apply(weight).square().sum().backward()
print(weight.grad)

# Ordinary weights, and a constant that boxes the gradient.
bias = torch.nn.Parameter(torch.ones(2))
mask = Boxed(torch.tensor([1.0, 0.5]))
for turn in range(9):
    bias.grad = None
    ((bias * mask).sum() + (bias * mask).square().sum()).backward()
    torch.nn.utils.clip_grad_norm_([bias], 1.0)
    with torch.no_grad():
        bias.sub_(bias.grad.inner, alpha=0.1)
print(bias, bias.grad)
