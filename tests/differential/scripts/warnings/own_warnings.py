"""Warns in its own words: repeated, from functions, with categories that are shown only here, beyond its first frame."""
import logging
import sys
import warnings

import torch


class Odd(UserWarning):
    pass


def old(depth):
    warnings.warn("old is old", DeprecationWarning, stacklevel=depth)


net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for update in range(25):
    optimizer.zero_grad()
    loss = net(torch.ones(3)).sum()
    loss.backward()
    optimizer.step()
    warnings.warn("in a loop")
    warnings.warn(f"update {update % 3}", Odd)
    old(1)
    old(2)
    warnings.warn("not for everybody", PendingDeprecationWarning)
    warnings.warn("nor this", ImportWarning)
for depth in (1, 2, 3, 9):
    warnings.warn(f"from frame {depth}", stacklevel=depth)
    warnings.warn(f"frame {depth} is no longer right", DeprecationWarning, stacklevel=depth)
warnings.warn_explicit("explicit", Odd, "somewhere.py", 7, module="somewhere")
print(sorted(str(key) for key in globals().get("__warningregistry__", {}) if key != "version"))
print(len(warnings.filters), warnings.filters[0])
logging.captureWarnings(True)
logging.basicConfig(stream=sys.stdout, format="%(name)s %(levelname)s %(message)s")
warnings.warn("into the log")
torch.ones(1).std()
