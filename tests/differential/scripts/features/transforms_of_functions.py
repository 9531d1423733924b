"""Differentiates with torch.func: grad, vmap, jvp, jacobians, functional_call, nested in each other."""
import torch
from torch.func import functional_call, grad, grad_and_value, hessian, jacrev, jvp, stack_module_state, vjp, vmap

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
params = dict(net.named_parameters())
x = torch.randn(5, 3)


def loss(params, row):
    return functional_call(net, params, (row,)).pow(2).sum()


for update in range(6):
    each = vmap(grad(loss), in_dims=(None, 0))(params, x)
    together, value = grad_and_value(loss)(params, x)
    with torch.no_grad():
        for name, p in net.named_parameters():
            p -= 0.01 * (each[name].mean(0) + together[name])
    net.zero_grad()
    vmap(lambda row: net(row).sum())(x).sum().backward()
    print(update, value.item(), net.weight.grad.sum().item())
print(jacrev(torch.sin)(x[0]).diagonal().tolist(), hessian(lambda v: v.pow(3).sum())(x[0]).trace().item())
print(jvp(torch.tanh, (x[0],), (torch.ones(3),))[1].tolist(), vjp(torch.tanh, x[0])[1](torch.ones(3))[0].tolist())
stacked, _ = stack_module_state([torch.nn.Linear(3, 1) for _ in range(2)])
print(vmap(lambda p, v: functional_call(net, p, (v,)), in_dims=(0, None))(stacked, x).shape)
print(vmap(torch.randn_like, randomness="different")(x).shape, torch.autograd.functional.hessian(torch.sum, x[0]).sum())
