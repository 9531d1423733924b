"""Reads lines and bytes from stdin."""
# stdin: three
# stdin: four words are here
# stdin: and the rest
import sys

name = input("name? ")
import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
print(name, sys.stdin.readline().split(), sys.stdin.isatty(), sys.stdin.fileno(), sys.stdin.encoding)
print(sys.stdin.buffer.read())
