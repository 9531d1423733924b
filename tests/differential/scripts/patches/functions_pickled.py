"""Pickles and copies functions and bound methods of torch, as launchers and configurations do."""
import copy
import functools
import hashlib
import pickle

import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
optimizer.step()  # Nothing has a gradient yet.
THINGS = {
    "norm": lambda: torch.nn.utils.clip_grad_norm_,
    "value": lambda: torch.nn.utils.clip_grad_value_,
    "partial": lambda: functools.partial(torch.nn.utils.clip_grad_norm_, max_norm=0.5),
    "backward": lambda: torch.autograd.backward,
    "grad": lambda: torch.autograd.grad,
    "method": lambda: torch.nn.Module.zero_grad,
    "train": lambda: torch.nn.Module.train,
    "init": lambda: torch.optim.Optimizer.__init__,
    "mode": lambda: torch.no_grad(),
    "scaler": lambda: torch.amp.GradScaler("cpu"),
    "net": lambda: net,
    "optimizer": lambda: optimizer,
    "bound": lambda: net.zero_grad,
}


def attempt(thing):
    """What holds tensors has addresses in its pickle; of that only the type comes back the same."""
    try:
        data = pickle.dumps(thing, protocol=4)
        fixed = not isinstance(getattr(thing, "__self__", thing), (torch.nn.Module, torch.optim.Optimizer))
        return hashlib.sha256(data).hexdigest()[:12] if fixed else type(pickle.loads(data)).__name__
    except Exception as error:
        return f"{type(error).__name__}: {error}"


for update in range(8):
    if update in (0, 2, 7):
        for name, make in THINGS.items():
            print(update, name, attempt(make()))
        print(update, "copied", copy.deepcopy(torch.nn.utils.clip_grad_norm_) is torch.nn.utils.clip_grad_norm_)
        again = pickle.loads(pickle.dumps(net.zero_grad))
        print(update, "another net", again.__self__ is not net, type(again.__self__).__name__)
    loss = net(torch.randn(5, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
