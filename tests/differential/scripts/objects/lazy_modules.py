"""Modules that load themselves at the first look, by importlib's lazy loader and by a proxy."""
import importlib.util
import pathlib
import sys
import types

import torch

pathlib.Path("heavy.py").write_text("print('heavy is loaded')\nvalue = 3\n")
spec = importlib.util.find_spec("heavy")
spec.loader = importlib.util.LazyLoader(spec.loader)
heavy = importlib.util.module_from_spec(spec)
sys.modules["heavy"] = heavy
spec.loader.exec_module(heavy)


class Proxy(types.ModuleType):
    def __getattr__(self, name):
        print("proxy was asked for", name)
        raise AttributeError(name)

    @property
    def __file__(self):
        print("proxy was asked for its file")
        return __file__


proxy = Proxy("proxy")
sys.modules["proxy"] = proxy
missing = sys.modules["missing"] = None
strange = sys.modules["strange"] = object()
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for update in range(10):
    loss = net(torch.randn(4, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained", heavy.value)
