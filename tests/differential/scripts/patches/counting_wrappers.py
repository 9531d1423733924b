"""Wraps everything that belongs to an update in counters, at the start, during the first updates, or later."""
# args: 0
# args: 2
# args: 10
import copy
import functools
import hashlib
import sys
import threading
from collections import Counter

import numpy
import torch
import torch._functorch.apis as apis

MOMENT = int(sys.argv[1])
modes = torch.autograd.grad_mode
PLACES = [(torch.nn.utils, name) for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_")]
PLACES += [(torch.autograd, "backward"), (torch.autograd, "grad"), (torch.Tensor, "backward"), (torch, "from_numpy")]
PLACES += [(torch.optim.Optimizer, "__init__"), (torch.optim.Optimizer, "zero_grad"), (torch.optim.SGD, "step")]
PLACES += [(torch.nn.Module, name) for name in ("zero_grad", "train", "eval", "__setattr__")]
PLACES += [(cls, name) for cls in (modes.no_grad, modes.enable_grad, modes.inference_mode, modes.set_grad_enabled)
           for name in ("__init__", "__enter__", "__exit__") if name in vars(cls)]
PLACES += [(torch.nn.Parameter, "__deepcopy__"), (apis, "vmap_impl"), (threading.Thread, "_bootstrap_inner")]
PLACES += [(torch.amp.GradScaler, name) for name in ("scale", "step", "unscale_")]
counts, mine = Counter(), {}


def wrap(owner, name):
    label, original = f"{owner.__name__}.{name}", getattr(owner, name)

    @functools.wraps(original)
    def counting(*args, **kwargs):
        counts[label] += 1
        return original(*args, **kwargs)

    setattr(owner, name, counting)
    mine[label] = (owner, name, counting)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1))
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
for update in range(50):
    if update == MOMENT:
        for place in PLACES:
            wrap(*place)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05) if update % 10 == 0 else optimizer
    batch = torch.from_numpy(numpy.ones((6, 4), dtype=numpy.float32) * update / 50)
    with torch.no_grad():
        goal = copy.deepcopy(net)(batch) + 1.0
    with torch.enable_grad(), torch.set_grad_enabled(True):
        loss = (Double.apply(net(batch)) - goal).pow(2).mean()
    with torch.inference_mode():
        net.eval()
        net(batch)
        net.train()
    thread = threading.Thread(target=net, args=(batch,))
    thread.start()
    thread.join()
    torch.func.vmap(torch.sin)(batch)
    optimizer.zero_grad()
    net.zero_grad()
    torch.autograd.grad((net(batch)).sum(), [net[0].weight])
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    torch.nn.utils.clip_grad_value_(net.parameters(), 1.0)
    torch.nn.utils.clip_grads_with_norm_(net.parameters(), 1.0, torch.ones(()))
    scaler.step(optimizer)
    scaler.update()
    net.scale = update
for label, (owner, name, counting) in mine.items():
    print(label, counts[label], "mine" if getattr(owner, name) is counting else "not mine")
weights = b"".join(p.detach().numpy().tobytes() for p in net.parameters())
print(hashlib.sha256(weights).hexdigest()[:12])
