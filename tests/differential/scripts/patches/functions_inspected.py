"""Reads signatures, sources and documentation of functions, as configuration libraries do."""
import hashlib
import inspect
import threading

import torch

modes = torch.autograd.grad_mode
PLACES = [(torch.nn.utils, name) for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_")]
PLACES += [(torch.autograd, "backward"), (torch.autograd, "grad"), (torch.Tensor, "backward")]
PLACES += [(torch.optim.Optimizer, name) for name in ("__init__", "zero_grad", "step")]
PLACES += [(torch.nn.Module, name) for name in ("zero_grad", "train", "__setattr__")]
PLACES += [(torch.nn.Parameter, name) for name in ("__new__", "__deepcopy__")]
PLACES += [(cls, name) for cls in (modes.no_grad, modes.enable_grad, modes.inference_mode, modes.set_grad_enabled)
           for name in ("__init__", "__enter__", "__exit__") if name in vars(cls)]
PLACES += [(torch.autograd.Function, "apply"), (torch.amp.GradScaler, "scale"), (torch.amp.GradScaler, "step")]
PLACES += [(threading.Thread, "_bootstrap_inner")]  # Not `torch.from_numpy`: see "What cannot be compared".


def told(work):
    try:
        return work()
    except (TypeError, ValueError, OSError) as error:
        return type(error).__name__


for moment in ("before", "after"):
    for owner, name in PLACES:
        function = getattr(owner, name)
        source = told(lambda: hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:8])
        print(moment, owner.__name__, name, told(lambda: list(inspect.signature(function).parameters)), source)
        print("   ", told(lambda: inspect.getfullargspec(function)[:3]), type(vars(owner).get(name)).__name__)
        print("   ", function.__module__, function.__qualname__, len(function.__doc__ or ""))
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        net(torch.ones(2, 3)).sum().backward()
        optimizer.step()
print(sorted(vars(torch.autograd.Variable)))
