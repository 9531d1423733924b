"""An optimizer was built, its parameters receive gradient, and it is never stepped.

The update of one network was forgotten: its gradients pile up while the others train.

Call its `step()` (and `zero_grad()`) as well.

```python bad
import torch

policy, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
policy_optimizer = torch.optim.Adam(policy.parameters())
critic_optimizer = torch.optim.Adam(critic.parameters())  # WG315
for _ in range(8):
    obs = torch.randn(8, 4)
    policy_loss = -torch.log_softmax(policy(obs), -1)[:, 0].mean()
    value_loss = (critic(obs) - 1.0).pow(2).mean()
    policy_optimizer.zero_grad()
    critic_optimizer.zero_grad()
    (policy_loss + value_loss).backward()
    policy_optimizer.step()
```

```python good
import torch

policy, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
policy_optimizer = torch.optim.Adam(policy.parameters())
critic_optimizer = torch.optim.Adam(critic.parameters())
for _ in range(8):
    obs = torch.randn(8, 4)
    policy_loss = -torch.log_softmax(policy(obs), -1)[:, 0].mean()
    value_loss = (critic(obs) - 1.0).pow(2).mean()
    policy_optimizer.zero_grad()
    critic_optimizer.zero_grad()
    (policy_loss + value_loss).backward()
    policy_optimizer.step()
    critic_optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Backward, Optimizer, Trace
from whygrad.trace.consumption import by_hand

CODE = "WG315"
NAME = "idle-optimizer"
OFTEN = 3
"""Backwards that must have reached its parameters."""


def check(trace: Trace) -> Iterator[Finding]:
    if any(scaler.stuck for scaler in trace.scalers):
        return  # The step is called, and the scaler leaves it out.
    stepped = {n for o in trace.optimizers if o.steps for n in o.parameters} | by_hand(trace)
    for optimizer in trace.optimizers:
        mine = {n for n in optimizer.parameters if n not in stepped}
        if optimizer.steps or not mine or 0 < trace.updates < OFTEN:
            continue
        own = {n for n in mine if not trace.parameter(n).loaded}
        backwards = [b for b in trace.backwards if b.deposits & own]
        if len(backwards) >= OFTEN:
            yield _finding(trace, optimizer, backwards, own)


def _finding(trace: Trace, optimizer: Optimizer, backwards: list[Backward], own: set[int]) -> Finding:
    who = wording.whom(trace, own)
    last = backwards[-1]
    labels = [Label(last.site, f"deposits gradient on {who}")] if last.site is not None else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, own, 'is', 'are')} not learning; {optimizer.name} is never stepped",
        optimizer.site,
        f"holds {wording.plural(len(own), 'parameter')} that get gradient and are never updated",
        labels,
        "backward only deposits gradients; the values move when the optimizer steps, and this one never does.",
        (
            f"0 steps in {wording.plural(trace.updates, 'update')} of the others; "
            if trace.updates
            else "no step at all; "
        )
        + f"{wording.plural(len(backwards), 'traced backward')} reached it",
        f"call {optimizer.name}.step() after {last.name}.backward()",
        parameters=trace.names(own),
        evidence={"updates": trace.updates, "backwards": len(backwards)},
    )
