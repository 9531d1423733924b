"""A parameter is changed in place while gradient recording is on.

PyTorch says "a leaf Variable that requires grad is being used in an in-place operation". Updating
weights by hand (`p += ...`, a soft target update) has to happen outside of autograd.

Put the update under `torch.no_grad()`.

```python bad
import torch

net, target = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
for p, t in zip(net.parameters(), target.parameters()):
    t.mul_(0.99)  # WG608
    t.add_(0.01 * p)
```

```python good
import torch

net, target = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(8, 4)).mean().backward()
optimizer.step()
with torch.no_grad():
    for p, t in zip(net.parameters(), target.parameters()):
        t.mul_(0.99)
        t.add_(0.01 * p)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import explaining
from whygrad.finding import Finding
from whygrad.trace import Trace

CODE = "WG608"
NAME = "leaf-modified"


def check(trace: Trace) -> Iterator[Finding]:
    for error in explaining.raised(trace, CODE):
        what = error.subject or "a trainable parameter"
        yield explaining.finding(
            CODE,
            NAME,
            error,
            message=f"{what} is changed in place while gradient is recorded",
            here="this writes into a leaf that requires grad",
            why="autograd cannot record a change of the very value it is asked to differentiate for.",
            fix="put the update under torch.no_grad()",
        )
