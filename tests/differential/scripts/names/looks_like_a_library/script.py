"""Puts stubs into sys.modules: modules that answer everything, None, and modules without contents."""
# args: before
# args: after
import importlib.machinery
import sys
import types

NAMES = ("tensorflow", "IPython", "wandb", "tensorboard", "keras", "pyarrow", "rich", "gymnasium", "numpy.nothing", "cupy")


class Stub(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(f"{self.__name__}.{name}")

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{self.__name__} was called")


def stub():
    for number, name in enumerate(NAMES):
        module = (Stub, types.ModuleType)[number % 2](name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        sys.modules[name] = module
    sys.modules["IPython"] = Stub("IPython")
    sys.modules["cupy"] = None


if sys.argv[1] == "before":
    stub()
import torch

if sys.argv[1] == "after":
    stub()
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(12):
    optimizer.zero_grad()
    net(torch.randn(4, 3)).pow(2).mean().backward()
    optimizer.step()
print(net.weight.sum().item(), [type(sys.modules[name]).__name__ for name in NAMES])
