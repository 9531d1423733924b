"""A `.detach()` or `.data` lies on the only path of parameters that should train.

Detaching is right for targets, advantages and logs. On the value that is being trained it removes
the gradient, silently when another part of the loss still has a graph.

Move the detach to the side of the loss that is meant to be constant.

```python bad
import torch

critic = torch.nn.Linear(4, 1)
target = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(critic.parameters())
for _ in range(3):
    value = critic(torch.randn(8, 4))
    expected = 1.0 + 0.9 * target(torch.randn(8, 4))
    loss = torch.nn.functional.mse_loss(value.detach(), expected)  # WG103
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

critic = torch.nn.Linear(4, 1)
target = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(critic.parameters())
for _ in range(3):
    value = critic(torch.randn(8, 4))
    expected = 1.0 + 0.9 * target(torch.randn(8, 4))
    loss = torch.nn.functional.mse_loss(value, expected.detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import cutting
from whygrad.finding import Finding
from whygrad.trace import Trace

CODE = "WG103"
NAME = "detached-path"


def check(trace: Trace) -> Iterator[Finding]:
    for cut in cutting.of_kind(trace, "detach"):
        call = ".data" if cut.op.name == "data" else f".{cut.op.written}()"
        yield cutting.finding(
            trace,
            CODE,
            NAME,
            cut,
            here="detached here: no gradient passes this expression",
            why=f"{call} gives the same numbers without history, and there is no other path to these parameters.",
            fix=f"remove {call} here; detach the side of the loss that is meant to be constant",
        )
