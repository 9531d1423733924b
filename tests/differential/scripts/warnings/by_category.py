"""Warnings of one category or of one module are errors or are shown always, by options and by its own filters."""
# flags: -W error::DeprecationWarning:__main__ -W always::UserWarning
import warnings

import torch
import torch.nn.functional as F

warnings.filterwarnings("error", "Using a target size", module="__main__")
warnings.filterwarnings("ignore", category=FutureWarning, lineno=0)
net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
scheduler.step()
for update in range(14):
    out = net(torch.ones(4, 3))
    F.softmax(out)
    try:
        F.mse_loss(out, torch.ones(2))
    except UserWarning as warning:
        print("caught", str(warning)[:30])
    try:
        warnings.warn("old", DeprecationWarning)
    except DeprecationWarning as warning:
        print(warning)
    optimizer.zero_grad()
    out.sum().backward()
    optimizer.step()
    if update == 11:
        torch.nn.utils.clip_grad_norm_([], 1.0)
print(sorted(str(key) for key in globals().get("__warningregistry__", {}) if key != "version"))
