"""Leaves in the middle of an update: from a hook of backward, from inside no_grad, from a function of its own."""
# args: hook
# args: region
# args: function
import atexit
import sys

import torch

net = torch.nn.Linear(3, 1)
atexit.register(lambda: print("grad enabled", torch.is_grad_enabled()))


def leave(*_):
    sys.exit(21)


class Leaving(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        raise SystemExit(22)


for update in range(8):
    net.zero_grad()
    loss = net(torch.ones(3)).sum()
    if update == 3:
        if sys.argv[1] == "hook":
            loss.register_hook(leave)
        elif sys.argv[1] == "function":
            Leaving.apply(loss)
        else:
            with torch.no_grad(), torch.inference_mode():
                raise SystemExit("from inside")
    loss.backward()
