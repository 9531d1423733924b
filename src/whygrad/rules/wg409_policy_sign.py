"""The loss pushes the policy the wrong way.

Optimizers minimise. A policy-gradient loss therefore needs a minus: `-(log_prob * advantage).mean()`. Without it the
actions that paid off become rarer. The clipped surrogate takes the minimum before the minus, or the maximum after it;
the other way round it keeps exactly what it should cut off. An entropy bonus is subtracted.

Turn the sign (or swap minimum and maximum).

```python bad
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(4):
    obs, advantages = torch.randn(8, 4), torch.randn(8)
    dist = torch.distributions.Categorical(logits=policy(obs))
    loss = (dist.log_prob(dist.sample()) * advantages).mean()  # WG409
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(4):
    obs, advantages = torch.randn(8, 4), torch.randn(8)
    dist = torch.distributions.Categorical(logits=policy(obs))
    loss = -(dist.log_prob(dist.sample()) * advantages).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.pushing import Wrong, wrong_signs
from whygrad.trace import Trace

CODE = "WG409"
NAME = "policy-sign"
SAID = {
    "score": (
        ("makes the actions that paid off less likely", "make the actions that paid off less likely"),
        "it enters the loss with a plus: minimising it lowers the probability where the weight is positive",
        "put a minus in front of it",
    ),
    "likelihood": (
        ("makes the actions that paid off less likely", "make the actions that paid off less likely"),
        "a cross entropy is a negative log-probability already, and it enters the loss with a minus: minimising that "
        "lowers the probability where the weight is positive",
        "take the minus away",
    ),
    "extreme": (
        ("is trained by what the clipping should have cut off", "are trained by what it should have cut off"),
        "it takes the wrong one of the two: the clipped surrogate is the pessimistic one",
        "minimise -min(surrogate, clipped), or max of the two negated surrogates",
    ),
    "entropy": (
        ("loses its entropy: the bonus is minimised", "lose their entropy: the bonus is minimised"),
        "the entropy enters the loss with a plus: minimising it makes the policy deterministic",
        "subtract the entropy bonus from the loss",
    ),
}


def check(trace: Trace) -> Iterator[Finding]:
    said: set[object] = set()
    for found in wrong_signs(trace):
        if (found.site or found.op.site) not in said:
            said.add(found.site or found.op.site)
            yield _finding(trace, found)


def _finding(trace: Trace, found: Wrong) -> Finding:
    reach = trace.graph.reach(found.op.id)
    who = wording.whom(trace, reach)
    consequence, why, fix = SAID[found.how]
    labels = [Label(found.backward.site, "minimised")] if found.backward.site is not None else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, reach, *consequence)}",
        found.site or found.op.site,
        "enters the loss with the wrong sign" if found.how != "extreme" else "the wrong one of minimum and maximum",
        labels,
        f"{why}.",
        f"followed through the traced graph of {found.backward.name}; {found.evidence}",
        fix,
        parameters=trace.names(reach),
        evidence={"how": found.how},
    )
