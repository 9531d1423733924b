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
from whygrad.idling import drained, thrown_away
from whygrad.source.discarding import Useless
from whygrad.source.exhausting import Exhausted
from whygrad.trace import Trace
from whygrad.trace.crosstalk import crosstalk

CODE = "WG208"
NAME = "discarded-result"


def check(trace: Trace) -> Iterator[Finding]:
    for found in thrown_away(trace):
        yield _without_effect(found)
    for spent in drained(trace):
        # To freeze a critic for the actor's loss saves work, no more, where nobody applies what it would have got.
        costs_time = spent.toggles and not any(crosstalk(trace))
        yield _nothing_left(spent, "warning" if costs_time else "error")


def _without_effect(found: Useless) -> Finding:
    if found.how == "detach":
        parts = (
            f"{found.what} keeps its gradient: the result of detach() is thrown away",
            "returns a detached tensor that nobody takes",
            f"detach() does not change {found.what}; it returns a new tensor.",
            f"write {found.what} = {found.what}.detach()",
        )
    elif found.how == "result":
        parts = (
            f"{found.what}() changes nothing: its result is thrown away",
            "returns new tensors that nobody takes",
            "without a trailing underscore the operation leaves its operands as they are.",
            f"use {found.what}_(), which works in place, or assign the result",
        )
    elif found.how == "lazy":
        parts = (
            f"nothing on this line is ever done: {found.what} waits for somebody to run over it",
            "makes an iterator that nobody uses",
            "map() and generators only describe work; each item is done when a loop asks for it.",
            "write a for loop",
        )
    else:
        parts = (
            f"{found.what} is never called: the statement only names the method",
            "has no effect without parentheses",
            "naming a method does nothing; the call is missing.",
            f"write {found.what}()",
        )
    message, here, why, fix = parts
    read = found.how in ("uncalled", "lazy")
    seen = "read from the source; the function around it ran" if read else "seen to run at this line"
    return Finding(CODE, NAME, "error", message, found.site, here, [], why, seen, fix, evidence={"how": found.how})


def _nothing_left(spent: Exhausted, severity: str) -> Finding:
    return Finding(
        CODE,
        NAME,
        severity,
        f"nothing happens to the parameters in {spent.what}: the iterator was used up before",
        spent.site,
        "runs over an iterator that has nothing left",
        [Label(spent.made, "can be run over once")],
        "parameters() returns an iterator that can be run over once; whoever comes second finds it empty.",
        "read from the source; the lines around it ran",
        f"make a list of it: {spent.what} = list(...)",
        evidence={"how": "exhausted"},
    )
