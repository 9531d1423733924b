"""Starts itself again as a child, by subprocess and at the end by replacing itself."""
import os
import subprocess
import sys

import torch

net = torch.nn.Linear(2, 1)
net(torch.ones(2)).sum().backward()
if len(sys.argv) == 1:
    done = subprocess.run([sys.executable, __file__, "child"], capture_output=True, text=True)
    print(done.returncode, done.stdout, done.stderr, sorted(k for k in os.environ if "WHYGRAD" in k), flush=True)
    os.execv(sys.executable, [sys.executable, __file__, "again"])
print(sys.argv, __name__, os.path.basename(__file__))
sys.exit(6 if sys.argv[1] == "again" else 0)
