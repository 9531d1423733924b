"""Backward was called on a tensor with more than one element.

PyTorch says "grad can be implicitly created only for scalar outputs". A reduction is missing
(`reduction="none"`, a per-sample loss) or a broadcast added a dimension.

Reduce the loss (`.mean()` or `.sum()`) after weighting or masking it.

```python bad
import torch

net = torch.nn.Linear(4, 1)
loss = torch.nn.functional.mse_loss(net(torch.randn(8, 4)), torch.zeros(8, 1), reduction="none")
loss.backward()  # WG604
```

```python good
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = torch.nn.functional.mse_loss(net(torch.randn(8, 4)), torch.zeros(8, 1), reduction="none")
loss.mean().backward()
optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import explaining
from whygrad.finding import Finding
from whygrad.trace import Trace

CODE = "WG604"
NAME = "non-scalar-backward"


def check(trace: Trace) -> Iterator[Finding]:
    for error in explaining.raised(trace, CODE):
        shape = error.detail.get("shape", "")
        yield explaining.finding(
            CODE,
            NAME,
            error,
            message=f"backward cannot start: {error.subject or 'the loss'} is not a single number",
            here=f"called on a tensor of shape {shape}" if shape else "called on a tensor with several elements",
            why="a gradient is defined for one number; a loss with several elements has to be reduced first.",
            fix="reduce it: .mean() or .sum(), after weighting and masking",
        )
