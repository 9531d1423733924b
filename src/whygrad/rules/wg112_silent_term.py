"""One term of a summed loss reaches none of the parameters it depends on.

The other terms keep their graph, so nothing raises and the weights move, only not because of this
term. When the cut is one of the known kinds (WG101 to WG106, WG113) that code is reported instead;
this one is for operations that have no derivative at all, such as `torch.unique` or `torch.histc`.

```python bad
import torch

policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(3):
    logits = policy(torch.randn(8, 4))
    spread = torch.histc(logits).float().std()  # WG112
    loss = logits.pow(2).mean() - 0.1 * spread
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(3):
    logits = policy(torch.randn(8, 4))
    spread = logits.std()
    loss = logits.pow(2).mean() - 0.1 * spread
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

CODE = "WG112"
NAME = "silent-term"


def check(trace: Trace) -> Iterator[Finding]:
    for cut in cutting.of_kind(trace, "compute", "unknown"):
        yield cutting.finding(
            trace,
            CODE,
            NAME,
            cut,
            here=f"{cut.op.written} gives a result without history",
            why=f"{cut.op.written} has no derivative, so this part of the loss is a constant for autograd.",
            fix="express this part with differentiable operations",
        )
