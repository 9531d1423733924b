"""The weight of a log-probability carries the critic's gradient into a step.

In a policy gradient the advantage says how much an action's probability should change; it is a constant.
Attached, the policy loss also trains the critic: it lowers the values of likely actions instead of fitting
returns.

Detach the advantage (the value inside it, or the whole) in the policy loss.

```python bad
import torch

policy, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()])
for _ in range(4):
    obs, returns = torch.randn(8, 4), torch.randn(8)
    value = critic(obs).squeeze(1)
    log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
    policy_loss = -(log_prob * (returns - value)).mean()  # WG203
    loss = policy_loss + (returns - value).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()])
for _ in range(4):
    obs, returns = torch.randn(8, 4), torch.randn(8)
    value = critic(obs).squeeze(1)
    log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
    policy_loss = -(log_prob * (returns - value).detach()).mean()
    loss = policy_loss + (returns - value).pow(2).mean()
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
from whygrad.trace.leaks import Leak, attached_weights

CODE = "WG203"
NAME = "advantage-attached"


def check(trace: Trace) -> Iterator[Finding]:
    for leak in leaking.merged(trace, attached_weights(trace)):
        yield _finding(trace, leak)


def _finding(trace: Trace, leak: Leak) -> Finding:
    who = wording.whom(trace, leak.parameters)
    return Finding(
        CODE,
        NAME,
        "error",
        f"the policy loss trains {who}: the weight of the log-probability keeps its gradient"
        + wording.in_part(leak.when),
        leak.op.site,
        f"both factors carry gradient; the weight brings in {who}",
        leaking.labels(trace, leak, "the value enters with its gradient"),
        "the weight (advantage, return) is to scale the change of the policy and is a constant there; attached, the "
        "same loss changes the values to make it smaller.",
        leaking.seen(trace, leak),
        "detach() the weight in the policy loss",
        parameters=trace.names(leak.parameters),
        evidence=leaking.evidence(leak) | {"parameters": len(leak.parameters)},
    )
