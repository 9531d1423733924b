"""A bootstrapped target carries gradient, so that the step trains the target as well as the prediction.

In TD learning the target is a constant: `r + gamma * V(s')` says what the prediction should become. When
its graph is left attached, the same step also changes V(s') to meet V(s): the residual gradient, which
learns slowly or the wrong thing, with a loss that looks fine. With the two sides confused, V(s) detached and
the target not, V(s') alone moves, towards whatever V(s) happens to be.

Compute the target under `torch.no_grad()`, or detach it. If you mean the residual gradient, say so with a
suppression comment.

```python bad
import torch

q_net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(4):
    obs, next_obs, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    q = q_net(obs)[:, 0]
    target = reward + 0.99 * q_net(next_obs).max(1).values  # WG201
    loss = torch.nn.functional.mse_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

q_net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(4):
    obs, next_obs, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    q = q_net(obs)[:, 0]
    with torch.no_grad():
        target = reward + 0.99 * q_net(next_obs).max(1).values
    loss = torch.nn.functional.mse_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import leaking, wording
from whygrad.finding import Finding
from whygrad.trace import Trace
from whygrad.trace.crosstalk import same_step
from whygrad.trace.leaks import Leak, attached_targets
from whygrad.trace.refreshing import copied_only

CODE = "WG201"
NAME = "attached-target"


def check(trace: Trace) -> Iterator[Finding]:
    copies = copied_only(trace)
    found = [
        (leak, bool(error.inverted(trace.graph)))
        for leak, error in attached_targets(trace)
        if same_step(trace, leak, error) and not leak.parameters <= copies
    ]
    for inverted in (False, True):
        for leak in leaking.merged(trace, [leak for leak, swapped in found if swapped is inverted]):
            yield _finding(trace, leak, inverted)


def _finding(trace: Trace, leak: Leak, inverted: bool) -> Finding:
    who = wording.whom(trace, leak.parameters)
    fix = "compute the target under torch.no_grad(), or detach() it"
    if inverted:
        fix = "detach the target, not the prediction"
    beside = "alone: the prediction is cut" if inverted else "not only through the prediction"
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, leak.parameters, 'is', 'are')} trained through the target of "
        f"{leak.backward.name}{' ' if inverted else ', '}{beside}{wording.in_part(leak.when)}",
        leak.op.site,
        "the target keeps its graph here",
        leaking.labels(trace, leak, "the network's output enters with its gradient"),
        "a target says what the prediction should become; with its graph attached, the step "
        f"{'moves the target instead' if inverted else 'also moves the target towards the prediction'}.",
        leaking.seen(trace, leak),
        fix,
        parameters=trace.names(leak.parameters),
        evidence=leaking.evidence(leak) | {"parameters": len(leak.parameters)},
    )
