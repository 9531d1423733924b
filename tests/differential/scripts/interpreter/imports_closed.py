"""Closes the imports, the path and the module cache behind itself, as a sandbox does."""
# args: finders
# args: path
# args: hook
import builtins
import sys

import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
refused = []


def update():
    loss = net(torch.randn(4, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()


def refuse(name, *args, **kwargs):
    caller = (args[0] or {}).get("__name__") if args else None
    if caller == "__main__" or (name not in sys.modules and not name.startswith("torch")):
        refused.append((name, caller))
        raise ImportError(f"{name} is refused")
    return original(name, *args, **kwargs)


for _ in range(3):
    update()
original = builtins.__import__
if sys.argv[1] == "finders":
    sys.meta_path.clear()
elif sys.argv[1] == "path":
    sys.path.clear(), sys.path_hooks.clear(), sys.path_importer_cache.clear()
else:
    builtins.__import__ = refuse
for _ in range(12):
    update()
print(len(sys.meta_path) if sys.argv[1] == "finders" else len(sys.path) if sys.argv[1] == "path" else refused)
print(net.weight.sum().item())
