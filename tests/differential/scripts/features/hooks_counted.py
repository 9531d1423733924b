"""Hooks of every sort, each of which counts its calls."""
# args: 12
# args: 45
import sys
from collections import Counter

import torch
from torch.autograd.graph import register_multi_grad_hook, saved_tensors_hooks
from torch.optim.optimizer import register_optimizer_step_post_hook

counts = Counter()


def counting(name, result=None):
    def hook(*_):
        counts[name] += 1
        return result

    return hook


def pack(tensor):
    counts["pack"] += 1
    return tensor.detach().clone()


def unpack(kept):
    counts["unpack"] += 1
    return kept


torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
net.register_forward_pre_hook(counting("forward before"))
net.register_forward_hook(counting("forward"))
net[0].register_full_backward_hook(counting("backward"))
net[2].register_full_backward_pre_hook(counting("backward before"))
net.register_state_dict_pre_hook(counting("state"))
torch.nn.modules.module.register_module_forward_hook(counting("every forward"))
net[0].weight.register_hook(counting("weight"))
net[0].bias.register_post_accumulate_grad_hook(counting("accumulated"))
register_multi_grad_hook(list(net.parameters()), counting("all of them"))
optimizer.register_step_pre_hook(counting("step before"))
optimizer.register_step_post_hook(counting("step"))
register_optimizer_step_post_hook(counting("every step"))
for update in range(int(sys.argv[1])):
    with saved_tensors_hooks(pack, unpack):
        hidden = net[0](torch.randn(4, 3))
        out = net[2](hidden.tanh())
        loss = (net(torch.randn(4, 3)) + out.exp()).mean() + out.pow(2).mean() * 0.5
    out.register_hook(counting("output"))
    hidden.retain_grad()
    hidden.grad_fn.register_hook(counting("node"))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    net.state_dict()
for name, count in sorted(counts.items()):
    print(name, count)
print([p.sum().item() for p in net.parameters()], hidden.grad.sum().item())
