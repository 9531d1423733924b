"""A discrete choice lies on the only path: its result does not change smoothly with its input.

`argmax`, `round`, `sign`, comparisons, integer casts and sampled indices have no useful gradient:
it does not exist or is zero everywhere. As an index they are harmless; as a value in the loss they
end the path.

Put the quantity that was chosen into the loss (the gathered Q-value, the log-probability), or use a
relaxation such as a straight-through estimator.

```python bad
import torch

net = torch.nn.Linear(4, 3)
head = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()])
for _ in range(3):
    obs = torch.randn(8, 4)
    predicted = torch.argmax(net(obs), dim=1).float()  # WG105
    loss = (predicted - 1.0).pow(2).mean() + head(obs).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

net = torch.nn.Linear(4, 3)
head = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()])
for _ in range(3):
    obs = torch.randn(8, 4)
    q = net(obs)
    predicted = q.gather(1, q.argmax(1, keepdim=True)).squeeze(1)
    loss = (predicted - 1.0).pow(2).mean() + head(obs).pow(2).mean()
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

CODE = "WG105"
NAME = "discrete-choice"


def check(trace: Trace) -> Iterator[Finding]:
    for cut in cutting.of_kind(trace, "discrete"):
        zero = cut.op.requires_grad
        gives = "a gradient that is zero everywhere" if zero else "no gradient at all"
        yield cutting.finding(
            trace,
            CODE,
            NAME,
            cut,
            here=f"a discrete choice: {cut.op.written}() passes {gives}",
            why="its result jumps instead of changing smoothly, so no gradient can come back through it.",
            fix="put what was chosen into the loss (gathered value, log-probability), or a straight-through estimate",
        )
