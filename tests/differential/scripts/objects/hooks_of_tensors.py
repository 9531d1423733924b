"""Hooks of tensors, listed, named, compared, stored along and taken off again; one raises, one warns about its caller."""

import copy
import io
import pickle
import warnings

import torch
from torch.utils.hooks import unserializable_hook


class Scale:
    """A hook with a state."""

    factor = 0.5

    def __call__(self, grad):
        self.calls = getattr(self, "calls", 0) + 1
        return grad * self.factor

    def __repr__(self):
        return f"Scale({self.factor})"


@unserializable_hook
def cut(grad):
    warnings.warn("from the hook", stacklevel=2)
    return grad.clamp(-0.1, 0.1)


def listed(tensor):
    return [(repr(hook)[:20], hook == scale, hook == cut, hook.__doc__) for hook in tensor._backward_hooks.values()]


warnings.simplefilter("always")
torch.manual_seed(8)
layer = torch.nn.Linear(3, 1)
optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
scale = Scale()
on_weight = layer.weight.register_hook(scale)
on_bias = layer.bias.register_hook(cut)
for turn in range(8):
    hidden = layer(torch.randn(4, 3)).tanh()
    handle = hidden.register_hook(lambda grad: None)
    loss = hidden.square().sum() + hidden.exp().mean()
    optimizer.zero_grad()
    loss.backward()
    handle.remove()
    optimizer.step()
    print(len(hidden._backward_hooks), len(layer.weight._backward_hooks), len(layer.bias._backward_hooks))
print(scale.calls, listed(layer.weight), listed(layer.bias))
with warnings.catch_warnings(record=True) as seen:
    torch.save(layer.state_dict(keep_vars=True), io.BytesIO())
    pickle.dumps(layer.bias)
    copy.deepcopy(layer)
print([str(warning.message) for warning in seen])

on_weight.remove()
on_bias.remove()
with warnings.catch_warnings(record=True) as seen:
    torch.save(layer.weight, io.BytesIO())
print(len(seen), layer.weight._backward_hooks, layer.bias._backward_hooks)


def refuse(grad):
    raise ArithmeticError("this gradient is refused")


layer.weight.register_hook(refuse)
try:
    layer(torch.ones(3)).sum().backward()
except ArithmeticError as error:
    print(error, layer.weight.grad is None)
print(*layer.parameters())
layer(torch.ones(3)).sum().backward()
