"""Prints to streams of another encoding, with errors of its own, and without a buffer."""
# env: PYTHONIOENCODING=latin-1:replace
# flags: -u
import sys

import torch

net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
for stream in (sys.stdout, sys.stderr):
    print(stream.encoding, stream.errors, stream.line_buffering, stream.write_through, stream.name)
    print("gr\u00fc\u00dfe \u2028 \U0001f600", file=stream)
raise ValueError("\u00fc \u2026")
