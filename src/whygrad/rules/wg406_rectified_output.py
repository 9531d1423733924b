"""The last layer of a head is rectified.

After a ReLU a value cannot be negative and a logit cannot fall below the others: whatever the loss asks for below
zero has no gradient. Outputs that start below zero stay there for good.

Leave the last layer linear.

```python bad
import torch

policy = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(4):
    obs, weight = torch.randn(8, 4), torch.randn(8)
    logits = policy(obs)  # WG406
    dist = torch.distributions.Categorical(logits=logits)
    loss = -(dist.log_prob(dist.sample()) * weight).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(4):
    obs, weight = torch.randn(8, 4), torch.randn(8)
    logits = policy(obs)
    dist = torch.distributions.Categorical(logits=logits)
    loss = -(dist.log_prob(dist.sample()) * weight).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Op, Trace
from whygrad.trace.anatomy import behind_shaping
from whygrad.trace.rectified import Rectified, rectified

CODE = "WG406"
NAME = "rectified-output"
AS = {
    "logits": ("logits", "a logit at zero cannot be pushed below the others"),
    "value": ("a value", "a value that should be negative stays at zero, without gradient"),
    "log-std": ("a log standard deviation", "it cannot fall below zero, so the spread never gets under one"),
}


def check(trace: Trace) -> Iterator[Finding]:
    said: set[object] = set()
    for found in rectified(trace):
        if found.op.site not in said:
            said.add(found.op.site)
            yield _finding(trace, found)


def _finding(trace: Trace, found: Rectified) -> Finding:
    op: Op = found.op
    below = behind_shaping(trace.graph, op.inputs[0].op)
    operands = trace.graph.operands(below) if below is not None else ()
    reach = frozenset(found.parameter for _, found in operands if found.parameter is not None)
    who = wording.whom(trace, reach)
    what, why = AS[found.use]
    labels = []
    if found.user.site is not None and found.user.site != op.site:
        labels.append(Label(found.user.site, f"used as {what}"))
    killed = op.facts.killed if op.facts is not None and op.facts.killed is not None else 0.0
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} cannot give less than zero: its output is rectified and used as {what}",
        op.site,
        "ReLU on the output of the last layer",
        labels,
        f"{why}.",
        _seen(killed),
        "leave the last layer linear",
        parameters=trace.names(reach),
        evidence={"use": found.use, "zero": killed},
    )


def _seen(killed: float) -> str:
    if not killed:
        return "in the latest traced update every output was above zero; the first one below will get stuck there"
    share = f"{killed:.0%}" if killed >= 0.01 else "less than 1%"
    return f"{share} of the outputs are exactly zero in the latest traced update, and pass no gradient"
