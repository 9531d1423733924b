"""Predicted values run away from anything the rewards could pay.

A value is a discounted sum of rewards, so it cannot exceed the largest reward divided by one minus the discount. Values
that bootstrap on themselves can: each target is built from an estimate that is already too large, and the next one is
larger still. Where the gradient grows with them WG504 says so; a Huber loss or a clip keeps it small, and only the
values show it.

Let a target network follow slowly, take the smaller of two critics, lower the learning rate, and check the discount and
the mask of finished episodes.

```python bad
import torch

critic = torch.nn.Linear(1, 1, bias=False)
optimizer = torch.optim.SGD(critic.parameters(), lr=100.0)
for _ in range(90):
    obs, reward = torch.ones(16, 1), torch.rand(16, 1)
    with torch.no_grad():
        target = reward + 0.99 * critic(2 * obs)
    loss = torch.nn.functional.smooth_l1_loss(critic(obs), target)  # WG804
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

critic = torch.nn.Linear(1, 1, bias=False)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(90):
    obs, reward = torch.ones(16, 1), torch.rand(16, 1)
    with torch.no_grad():
        target = reward + 0.99 * critic(0.5 * obs)
    loss = torch.nn.functional.smooth_l1_loss(critic(obs), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding
from whygrad.trace import Trace
from whygrad.trace.magnitudes import exploded
from whygrad.trace.runaway import Runaway, runaways

CODE = "WG804"
NAME = "value-overestimates"
BEYOND = 30
"""Mean prediction over the largest reward seen, divided by one minus the discount (0.99 where no number is written in
the target): the rest is for a rare reward that no traced batch held."""
GROWTH = 1.5
"""From each of the latest evaluations to the next: a value that has found its level stays there."""
ENOUGH = 3
"""Evaluations in a row."""


def check(trace: Trace) -> Iterator[Finding]:
    for found in runaways(trace, BEYOND, GROWTH, int(ENOUGH)):
        if found.last.backward.site not in exploded(trace):
            yield _finding(trace, found)


def _finding(trace: Trace, found: Runaway) -> Finding:
    who = wording.whom(trace, found.parameters)
    _, size = found.sizes[-1]
    seen = ", ".join(f"{value:.2g} at {update + 1}" for update, value in found.sizes[-4:])
    return Finding(
        CODE,
        NAME,
        "warning",
        f"the values of {who} run away: {size:.2g} on average, where rewards of at most {found.reward:.2g} can add up "
        f"to {found.most:.2g}",
        found.last.op.site,
        "prediction against a target made of its own estimates",
        [],
        "a discounted sum of such rewards stays below the largest one divided by 1 - discount; each target is built "
        "from values that are too large already, and makes them larger.",
        f"mean magnitude of the prediction by update: {seen}",
        "let a target network follow slowly, take the smaller of two critics, lower the learning rate, and check the "
        "discount and the mask of finished episodes",
        parameters=trace.names(found.parameters),
        evidence={"mean": size, "largest_reward": found.reward, "updates": trace.updates},
    )
