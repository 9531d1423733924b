"""A statement that has no effect where one was meant.

`x.detach()` returns a new tensor and leaves `x` as it is; `loss.backward` without parentheses only names the
method; the iterator that `parameters()` returns can be run over once, and a second loop or clip over it
does nothing.

Assign the result (`x = x.detach()`), call the method, or make a list of the parameters.

```python bad
import torch

q_net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(4):
    obs, next_obs, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    next_q = q_net(next_obs).max(1).values
    next_q.detach()  # WG208
    loss = (q_net(obs)[:, 0] - (reward + 0.99 * next_q)).pow(2).mean()
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
    next_q = q_net(next_obs).max(1).values
    next_q = next_q.detach()
    loss = (q_net(obs)[:, 0] - (reward + 0.99 * next_q)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad.finding import Finding, Label
from whygrad.source.discarding import Useless, useless
from whygrad.trace import Trace

CODE = "WG208"
NAME = "discarded-result"


def check(trace: Trace) -> Iterator[Finding]:
    ran = trace.functions
    for file in trace.files:
        for found in useless(file):
            if (file, found.function) in ran or not found.function:
                yield _finding(found)


def _finding(found: Useless) -> Finding:
    if found.how == "detach":
        parts = (
            "error",
            f"{found.what} keeps its gradient: the result of detach() is thrown away",
            "returns a detached tensor that nobody takes",
            f"detach() does not change {found.what}; it returns a new tensor.",
            f"write {found.what} = {found.what}.detach()",
        )
    elif found.how == "result":
        parts = (
            "error",
            f"{found.what}() changes nothing: its result is thrown away",
            "returns new tensors that nobody takes",
            "without a trailing underscore the operation leaves its operands as they are.",
            f"use {found.what}_(), which works in place, or assign the result",
        )
    elif found.how == "uncalled":
        parts = (
            "error",
            f"{found.what} is never called: the statement only names the method",
            "has no effect without parentheses",
            "naming a method does nothing; the call is missing.",
            f"write {found.what}()",
        )
    else:
        parts = (
            "error",
            f"nothing happens to the parameters in {found.what}: the iterator was used up before",
            "runs over an iterator that has nothing left",
            "parameters() returns an iterator that can be run over once; whoever comes second finds it empty.",
            f"make a list of it: {found.what} = list(...)",
        )
    severity, message, here, why, fix = parts
    labels = [Label(found.made, "can be run over once")] if found.made is not None else []
    return Finding(
        CODE,
        NAME,
        severity,
        message,
        found.site,
        here,
        labels,
        why,
        "read from the source; the function around it ran",
        fix,
        evidence={"how": found.how},
    )
