"""What a script knows about itself, however it is started."""
# form: file folder zip pyc stdin module package code
# args: one --two=2 -m
import pickle
import sys


class Settings:
    rate = 0.5


def function():
    return __name__


print(__name__, __doc__ and __doc__[:20], __package__, type(__loader__).__name__, type(__builtins__).__name__)
print(globals().get("__file__"), globals().get("__cached__"), __spec__ and (__spec__.name, __spec__.origin, __spec__.parent))
print(sorted(globals()))
print(sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals(), __annotations__)
print(pickle.loads(pickle.dumps(Settings)) is Settings, pickle.loads(pickle.dumps(function)) is function, Settings.__module__)
print(function.__code__.co_filename, type(pickle.loads(pickle.dumps(Settings()))).__name__)
import torch

net = torch.nn.Linear(2, 1)
for _ in range(2):
    net.zero_grad()
    net(torch.ones(2)).sum().backward()
print(type(sys.modules["__main__"]).__name__, sys.modules["__main__"].Settings is Settings, flush=True)
raise RuntimeError("seen from here")
