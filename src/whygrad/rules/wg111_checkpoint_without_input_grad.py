"""A re-entrant checkpoint ran on inputs none of which requires grad, so everything inside it is cut.

`torch.utils.checkpoint.checkpoint(..., use_reentrant=True)` runs the block without recording and
repeats it during backward; autograd only comes back for it if some *input* requires grad. With raw
observations or a frozen embedding as input, trainable parameters inside get no gradient.

Use `use_reentrant=False`, or make the input require grad (`model.enable_input_require_grads()`).

```python bad
import torch
from torch.utils.checkpoint import checkpoint

body = torch.nn.Linear(4, 4)
head = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()])
for _ in range(3):
    hidden = checkpoint(body, torch.randn(8, 4), use_reentrant=True)  # WG111
    loss = head(hidden).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch
from torch.utils.checkpoint import checkpoint

body = torch.nn.Linear(4, 4)
head = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()])
for _ in range(3):
    hidden = checkpoint(body, torch.randn(8, 4), use_reentrant=False)
    loss = head(hidden).pow(2).mean()
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

CODE = "WG111"
NAME = "checkpoint-without-input-grad"


def check(trace: Trace) -> Iterator[Finding]:
    for cut in cutting.of_kind(trace, "checkpoint"):
        yield cutting.finding(
            trace,
            CODE,
            NAME,
            cut,
            here="checkpointed with no input that requires grad",
            why="a re-entrant checkpoint is only revisited in backward if one of its inputs requires grad.",
            fix="pass use_reentrant=False, or call requires_grad_() on the input",
        )
