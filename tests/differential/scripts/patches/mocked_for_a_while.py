"""Mocks functions with `unittest.mock` for some updates, in spans that begin and end anywhere."""
# args: 0 3
# args: 3 12
# args: 10 30
import sys
from contextlib import ExitStack
from unittest import mock

import torch

FIRST, LAST = map(int, sys.argv[1:])
PLACES = [(torch.nn.utils, "clip_grad_norm_"), (torch.nn.utils, "clip_grad_value_"), (torch.autograd, "backward"),
          (torch.optim.Optimizer, "zero_grad"), (torch.nn.Module, "zero_grad"), (torch.nn.Module, "train"),
          (torch, "from_numpy"), (torch.no_grad, "__enter__"), (torch.nn.Parameter, "__deepcopy__")]
before = {f"{owner.__name__}.{name}": vars(owner)[name] for owner, name in PLACES}
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.1), torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
spies, stack = {}, ExitStack()
for update in range(50):
    if update == FIRST:
        for owner, name in PLACES:
            spy = mock.create_autospec(getattr(owner, name), side_effect=getattr(owner, name))
            spies[f"{owner.__name__}.{name}"] = stack.enter_context(mock.patch.object(owner, name, spy))
    if update == LAST:
        stack.close()
        for owner, name in PLACES:
            print("restored", name, vars(owner)[name] is before[f"{owner.__name__}.{name}"])
    loss = net(torch.randn(5, 3)).pow(2).mean()
    optimizer.zero_grad()
    net.zero_grad()
    net.train()
    loss.backward()
    with torch.no_grad():
        net(torch.ones(3))
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    torch.nn.utils.clip_grad_value_(net.parameters(), 1.0)
    optimizer.step()
for label, spy in spies.items():
    print(label, spy.call_count)
for owner, name in PLACES:
    print("as before", name, vars(owner)[name] is before[f"{owner.__name__}.{name}"])
print(sum(p.sum().item() for p in net.parameters()))
