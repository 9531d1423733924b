"""Forks in the middle of training; the child, the parent or both go on with it, and end in several ways."""
# args: child return
# args: parent _exit
# args: both exit
# args: both raise
# args: child hooked
import hashlib
import os
import sys

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

who, how = sys.argv[1:]
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train(updates, name):
    for _ in range(updates):
        loss = net(torch.randn(4, 3)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    weights = b"".join(p.detach().numpy().tobytes() for p in net.parameters())
    print(name, hashlib.sha256(weights).hexdigest()[:12], flush=True)


train(3, "before")
child = os.fork()
if child == 0:
    if how == "hooked":
        stepped = []
        register_optimizer_step_post_hook(lambda *_: stepped.append(1))
    if who != "parent":
        train(30, "child")
    if how == "hooked":
        print("the child's own hook was called", len(stepped), "times", flush=True)
    if how == "_exit":
        os._exit(4)
    if how == "exit":
        sys.exit(5)
    if how == "raise":
        raise RuntimeError("in the child")
else:
    _, status = os.waitpid(child, 0)
    print("child ended", os.waitstatus_to_exitcode(status), flush=True)
    if who != "child":
        train(30, "parent")
