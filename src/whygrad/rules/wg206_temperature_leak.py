"""The loss of a temperature or multiplier also trains the network it measures.

`alpha_loss = -(log_alpha.exp() * (log_pi + target_entropy)).mean()` is to move alpha alone. With `log_pi`
attached and a step that consumes it, the temperature loss pushes the policy too, usually against the
entropy term of its own loss.

Detach the measured quantity in the multiplier's loss.

```python bad
import torch

policy = torch.nn.Linear(4, 2)
log_alpha = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.Adam(policy.parameters())
alpha_optimizer = torch.optim.Adam([log_alpha])
for _ in range(4):
    log_pi = torch.log_softmax(policy(torch.randn(8, 4)), -1)[:, 0]
    policy_loss = (log_alpha.exp().detach() * log_pi).mean()
    alpha_loss = -(log_alpha.exp() * (log_pi + 0.5)).mean()  # WG206
    optimizer.zero_grad()
    alpha_optimizer.zero_grad()
    (policy_loss + alpha_loss).backward()
    optimizer.step()
    alpha_optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 2)
log_alpha = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.Adam(policy.parameters())
alpha_optimizer = torch.optim.Adam([log_alpha])
for _ in range(4):
    log_pi = torch.log_softmax(policy(torch.randn(8, 4)), -1)[:, 0]
    policy_loss = (log_alpha.exp().detach() * log_pi).mean()
    alpha_loss = -(log_alpha.exp() * (log_pi.detach() + 0.5)).mean()
    optimizer.zero_grad()
    alpha_optimizer.zero_grad()
    (policy_loss + alpha_loss).backward()
    optimizer.step()
    alpha_optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import leaking, wording
from whygrad.finding import Finding
from whygrad.trace import Trace
from whygrad.trace.leaks import Leak, multiplier_terms

CODE = "WG206"
NAME = "temperature-leak"


def check(trace: Trace) -> Iterator[Finding]:
    multipliers: dict[object, frozenset[int]] = {}
    found = []
    for leak, own in multiplier_terms(trace):
        multipliers[leak.op.site] = own
        found.append(leak)
    for leak in leaking.merged(trace, found):
        yield _finding(trace, leak, multipliers[leak.op.site])


def _finding(trace: Trace, leak: Leak, own: frozenset[int]) -> Finding:
    who = wording.whom(trace, leak.parameters)
    multiplier = wording.whom(trace, own)
    return Finding(
        CODE,
        NAME,
        "error",
        f"the loss of {multiplier} trains {who} as well{wording.in_part(leak.when)}",
        leak.op.site,
        f"only {multiplier} was to learn from this product",
        leaking.labels(trace, leak, "enters with its gradient"),
        f"this term adjusts {multiplier} to a limit; with the measured side attached it also changes {who}, against or "
        "on top of its own loss.",
        leaking.seen(trace, leak),
        f"detach() what multiplies {multiplier} here",
        parameters=trace.names(leak.parameters),
        evidence=leaking.evidence(leak) | {"multiplier": trace.names(own)},
    )
