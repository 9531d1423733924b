"""The choice is made where there is nothing to choose.

`argmax(dim=0)` on the values of a single state, shape `(1, actions)`, compares the one row with itself: the answer is
0 for every action, so the agent takes action 0 for ever.

Choose along the last dimension: `argmax(dim=-1)`.

```python bad
import torch

q_net = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(8):
    with torch.no_grad():
        action = q_net(torch.randn(1, 4)).argmax(dim=0)[0].item()  # WG805
    loss = (q_net(torch.randn(8, 4))[:, action] - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

q_net = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(8):
    with torch.no_grad():
        action = q_net(torch.randn(1, 4)).argmax(dim=-1)[0].item()
    loss = (q_net(torch.randn(8, 4))[:, action] - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding
from whygrad.trace import Site, Trace

CODE = "WG805"
NAME = "one-action"
OFTEN = 3
"""Traced calls, all of them along a dimension of size one."""


def check(trace: Trace) -> Iterator[Finding]:
    for site, (times, shape) in trace.singles.items():
        if times >= OFTEN:
            yield _finding(site, times, shape)


def _finding(site: Site, times: int, shape: tuple[int, ...]) -> Finding:
    return Finding(
        CODE,
        NAME,
        "warning",
        f"{wording.code(site)} is always 0: argmax runs along a dimension of size one",
        site,
        f"chooses along the wrong dimension of {list(shape)}",
        [],
        f"along that dimension each of the {max(shape)} values is compared with itself alone, so 0 is the only answer.",
        f"{times} of {times} traced calls, shape {list(shape)} in the latest",
        "choose along the last dimension: argmax(dim=-1)",
        evidence={"shape": list(shape), "calls": times},
    )
