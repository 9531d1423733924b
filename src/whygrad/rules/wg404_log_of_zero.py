"""A logarithm meets zero.

`log(softmax(x))` underflows to `log(0)` once the policy is sure; `log(1 - a**2)` and `atanh(a)` are infinite for
an action at its bound. The result is minus infinity, and NaN in the gradient at the latest.

Use `log_softmax`, keep the value before the squashing, or keep the argument away from zero (`clamp(min=1e-6)`).

```python bad
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(4):
    obs, actions = 500 * torch.randn(8, 4), torch.randint(0, 3, (8, 1))
    probs = torch.softmax(policy(obs), dim=-1)
    loss = -torch.log(probs.gather(1, actions)).mean()  # WG404
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(4):
    obs, actions = 500 * torch.randn(8, 4), torch.randint(0, 3, (8, 1))
    log_probs = torch.log_softmax(policy(obs), dim=-1)
    loss = -log_probs.gather(1, actions).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import poisoning
from whygrad.finding import Finding
from whygrad.trace import Trace
from whygrad.trace.nonfinite import origins

CODE = "WG404"
NAME = "log-of-zero"


def check(trace: Trace) -> Iterator[Finding]:
    for origin in origins(trace):
        if origin.kind == "log":
            yield poisoning.finding(
                trace,
                origin,
                CODE,
                NAME,
                "its argument reached the edge of what a logarithm takes: a probability that underflowed to zero, or "
                "an action at its bound.",
                "use log_softmax on the logits, or keep the argument inside with clamp(min=1e-6) (for a squashed "
                "action: keep the value before tanh)",
            )
