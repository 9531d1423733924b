"""The only path of a value runs through Python or numpy and comes back as a constant.

`.item()`, `float()`, `.tolist()`, `.numpy()` and `np.asarray` return numbers. Numbers have no
history, so whatever is computed from them is a constant for autograd, however it returns.

Keep the tensor in the loss and call `.item()` only for what you print or log.

```python bad
import torch

policy = torch.nn.Linear(4, 2)
value = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()])
for _ in range(3):
    obs = torch.randn(8, 4)
    log_prob = torch.log_softmax(policy(obs), -1)[:, 0].mean()
    loss = value(obs).pow(2).mean() - 0.7 * log_prob.item()  # WG102
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 2)
value = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()])
for _ in range(3):
    obs = torch.randn(8, 4)
    log_prob = torch.log_softmax(policy(obs), -1)[:, 0].mean()
    loss = value(obs).pow(2).mean() - 0.7 * log_prob
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import cutting
from whygrad.finding import Finding
from whygrad.trace import Trace

CODE = "WG102"
NAME = "left-torch"
WRITTEN = {"__float__": "float()", "__int__": "int()", "__array__": "np.asarray()"}


def check(trace: Trace) -> Iterator[Finding]:
    for cut in cutting.of_kind(trace, "leave"):
        call = WRITTEN.get(cut.op.written, f".{cut.op.written}()")
        yield cutting.finding(
            trace,
            CODE,
            NAME,
            cut,
            here="the value leaves torch here and has no history from now on",
            why=f"{call} returns plain numbers; what is computed from them enters the loss as a constant.",
            fix=f"keep the tensor in the loss; use {call} only for printing and logging",
        )
