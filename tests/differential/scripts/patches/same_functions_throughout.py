"""Compares functions with what they were at the start, and with what their own modules hold."""
import sys

import torch
import torch.nn.utils
from torch.nn.utils import clip_grad_norm_ as imported

modes = torch.autograd.grad_mode
PLACES = [(torch.nn.utils, name) for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_")]
PLACES += [(torch.autograd, "backward"), (torch.autograd, "grad"), (torch, "from_numpy")]
PLACES += [(torch.optim.Optimizer, name) for name in ("__init__", "zero_grad")]
PLACES += [(torch.nn.Module, name) for name in ("zero_grad", "train", "__setattr__")]
PLACES += [(torch.amp.GradScaler, name) for name in ("scale", "step", "unscale_")]
PLACES += [(cls, name) for cls in (modes.no_grad, modes.enable_grad, modes.inference_mode, modes.set_grad_enabled)
           for name in ("__init__", "__enter__", "__exit__") if name in vars(cls)]
first = {place: vars(place[0])[place[1]] for place in PLACES}
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
told = []
for update in range(45):
    changed = [f"{place[0].__name__}.{place[1]}" for place in PLACES if vars(place[0])[place[1]] is not first[place]]
    changed += ["imported"] if imported is not torch.nn.utils.clip_grad_norm_ else []
    if changed != told:
        print("update", update, *changed, sep="\n    ")
    told = changed
    loss = net(torch.randn(5, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    imported(net.parameters(), 1.0)
    optimizer.step()
for (owner, name), function in first.items():
    home = sys.modules[function.__module__]
    for part in function.__qualname__.split("."):
        home = getattr(home, part, None)
    print(name, "is found at home:", home is function)
