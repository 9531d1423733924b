"""A mask that leaves nothing, or multiplies what is not a number.

Dividing by the sum of an empty mask is 0/0; the mean of nothing is NaN. Multiplying by a mask does not remove an
infinite or NaN value either: `nan * 0` is NaN.

Skip empty batches or divide by `mask.sum().clamp(min=1)`; choose with `torch.where` or by index before the value
can become infinite.

```python bad
import torch

critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
for step in range(4):
    obs, target = torch.randn(8, 4), torch.randn(8)
    mask = torch.zeros(8) if step == 2 else torch.ones(8)
    error = (critic(obs).squeeze(-1) - target).pow(2)
    loss = (error * mask).sum() / mask.sum()  # WG408
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
for step in range(4):
    obs, target = torch.randn(8, 4), torch.randn(8)
    mask = torch.zeros(8) if step == 2 else torch.ones(8)
    error = (critic(obs).squeeze(-1) - target).pow(2)
    loss = (error * mask).sum() / mask.sum().clamp(min=1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import poisoning
from whygrad.finding import Finding
from whygrad.trace import Trace
from whygrad.trace.nonfinite import origins
from whygrad.trace.operations import PRODUCTS

CODE = "WG408"
NAME = "masked-out-loss"


def check(trace: Trace) -> Iterator[Finding]:
    for origin in origins(trace):
        if origin.kind == "mask":
            product = origin.op.name in PRODUCTS
            yield poisoning.finding(
                trace,
                origin,
                CODE,
                NAME,
                "a zero of the mask times an infinite or NaN value is NaN: multiplying does not mask it out."
                if product
                else "the mask let nothing through, and nothing divided by nothing is NaN.",
                "choose with torch.where, or select the valid entries, before the value can become infinite"
                if product
                else "divide by mask.sum().clamp(min=1), or skip the update when the mask is empty",
            )
