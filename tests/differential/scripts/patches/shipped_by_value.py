"""Functions of torch's that a network names, shipped by value to another process, as vectorised environments do it."""

import subprocess
import sys

import cloudpickle
import numpy
import torch
from torch import from_numpy

THERE = """
import pickle, sys
function, given = pickle.load(sys.stdin.buffer)
print(function(given), "whygrad" in sys.modules)
"""


class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad / 2


halved = Halved.apply
switch = torch.no_grad().__enter__


def gradient(given):
    leaf = from_numpy(given).requires_grad_()
    halved(leaf).square().sum().backward()
    return leaf.grad


def quietly(given):
    with torch.no_grad():
        return halved(from_numpy(given)).requires_grad


def shipped(function, given):
    data = cloudpickle.dumps((function, given))
    done = subprocess.run([sys.executable, "-c", THERE], input=data, capture_output=True, check=False)
    return done.stdout.decode().strip(), done.stderr.decode()[-300:]


torch.manual_seed(7)
layer = torch.nn.Linear(3, 1)
for turn in range(9):
    if turn in (0, 3, 8):
        given = numpy.arange(3.0)
        print(turn, shipped(gradient, given), shipped(quietly, given))
        again = cloudpickle.loads(cloudpickle.dumps(halved))
        print(again(torch.ones(2)), again.__qualname__, type(cloudpickle.loads(cloudpickle.dumps(switch))).__name__)
    loss = halved(layer(torch.randn(4, 3))).square().mean()
    layer.zero_grad()
    loss.backward()
    with torch.no_grad():
        layer.weight -= 0.1 * layer.weight.grad
print(layer.weight, gradient(numpy.ones(2)))
