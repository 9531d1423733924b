"""A column meets a row, and every element is combined with every other.

`(N, 1)` with `(N,)` does not line up: PyTorch broadcasts both to `(N, N)`. In a loss that means that each
prediction is compared with the targets of all other samples, so all predictions are pulled to one mean.

Give both operands the same shape: squeeze the column or unsqueeze the row.

```python bad
import torch

critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
for _ in range(4):
    obs, returns = torch.randn(8, 4), torch.randn(8)
    loss = (critic(obs) - returns).pow(2).mean()  # WG401
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
for _ in range(4):
    obs, returns = torch.randn(8, 4), torch.randn(8)
    loss = (critic(obs).squeeze(-1) - returns).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Trace
from whygrad.trace.shapes import Outer, outer_products

CODE = "WG401"
NAME = "outer-broadcast"


def check(trace: Trace) -> Iterator[Finding]:
    for found in outer_products(trace):
        yield _finding(trace, found)


def _finding(trace: Trace, found: Outer) -> Finding:
    tall, flat, out = list(found.tall.shape), list(found.flat.shape), found.shape
    labels = [
        Label(op.site, f"has shape {list(op.shape)}")
        for op in (found.tall, found.flat)
        if op.site is not None and op.site != found.op.site
    ]
    trained = trace.graph.reach(found.backward.root or 0)
    who, are = wording.whom(trace, trained), wording.verb(trace, trained, "is", "are")
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {are} trained on every pair of samples: shapes {tall} and {flat} broadcast to {out}",
        found.op.site,
        f"{tall} with {flat} becomes {out}",
        labels,
        f"each of the {flat[-1]} values meets all {flat[-1]} of the other side, so the loss mixes samples that have "
        "nothing to do with each other.",
        f"shapes as they were in the traced update of {found.backward.name}",
        f"make both {flat} (squeeze(-1) on the first) or both {tall} (unsqueeze(-1) on the second)",
        evidence={"shapes": [tall, flat], "result": out},
    )
