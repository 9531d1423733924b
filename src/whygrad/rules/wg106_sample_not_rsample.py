"""`sample()` is used where the loss differentiates through the action.

`Distribution.sample()` runs without gradient. That is right for a score-function loss, which
differentiates the log-probability. A pathwise loss (SAC, SVG, a critic or a model fed with the
action) needs `rsample()`, which writes the draw as a function of the distribution's parameters.

```python bad
import torch
from torch.distributions import Normal

actor = torch.nn.Linear(4, 1)
critic = torch.nn.Linear(5, 1)
optimizer = torch.optim.Adam(actor.parameters())
for _ in range(3):
    obs = torch.randn(8, 4)
    dist = Normal(actor(obs), 0.5)
    action = dist.sample()  # WG106
    q = critic(torch.cat([obs, action], 1))
    loss = -q.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch
from torch.distributions import Normal

actor = torch.nn.Linear(4, 1)
critic = torch.nn.Linear(5, 1)
optimizer = torch.optim.Adam(actor.parameters())
critic.requires_grad_(False)
for _ in range(3):
    obs = torch.randn(8, 4)
    dist = Normal(actor(obs), 0.5)
    action = dist.rsample()
    q = critic(torch.cat([obs, action], 1))
    loss = -q.mean()
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

CODE = "WG106"
NAME = "sample-not-rsample"


def check(trace: Trace) -> Iterator[Finding]:
    for cut in cutting.of_kind(trace, "sample"):
        yield cutting.finding(
            trace,
            CODE,
            NAME,
            cut,
            here="drawn without gradient",
            why="sample() runs under no_grad, but this loss differentiates through the drawn value.",
            fix="use rsample(), or a score-function loss with log_prob(action)",
        )
