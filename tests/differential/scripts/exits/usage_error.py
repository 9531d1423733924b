"""Reads its arguments with argparse, which refuses them, or shows its help."""
# form: file module
# args: --rate x
# args: --help
# args: --rate 0.5
import argparse

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rate", type=float, default=0.1)
options = parser.parse_args()
import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
print("rate", options.rate)
exit("by the way for interactive sessions")
