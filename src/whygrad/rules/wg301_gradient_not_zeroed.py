"""A step consumes gradient that an earlier step of the same parameters has consumed before.

Gradients add up in `.grad` until somebody clears them. Without `zero_grad()` between two updates each
step follows the sum of all batches so far; with the wrong owner cleared (a local network's gradients
are pushed to a global optimizer) the old part travels along.

Clear the gradients once per update: `optimizer.zero_grad()` before `backward()`, of the very
parameters that collect them.

```python bad
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    loss.backward()
    optimizer.step()  # WG301
```

```python good
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Optimizer, Step, Trace

CODE = "WG301"
NAME = "gradient-not-zeroed"
OFTEN = 2
"""Stale steps before it counts: one may be the seam between two phases."""


def check(trace: Trace) -> Iterator[Finding]:
    for optimizer in trace.optimizers:
        steps = [s for s in trace.steps if s.optimizer == optimizer.id and not s.closure]
        stale, parameters = _stale(steps)
        if len(stale) >= OFTEN and len(stale) * 2 >= len(steps) - 1:
            yield _finding(trace, optimizer, steps, stale, parameters)


def _stale(steps: list[Step]) -> tuple[list[Step], set[int]]:
    """Steps that found deposits an earlier step had used, and on which parameters."""
    used: dict[int, set[int]] = {}
    stale: list[Step] = []
    parameters: set[int] = set()
    for step in steps:
        again = {n for n, ids in step.consumed.items() if used.get(n, set()).intersection(ids)}
        if again:
            stale.append(step)
            parameters |= again
        for number, ids in step.consumed.items():
            used.setdefault(number, set()).update(ids)
    return stale, parameters


def _finding(trace: Trace, optimizer: Optimizer, steps: list[Step], stale: list[Step], parameters: set[int]) -> Finding:
    who = wording.whom(trace, parameters)
    last = stale[-1]
    most = max(len(set(ids)) for ids in last.consumed.values())
    carried = last.assigned & parameters
    fresh = {b.id for b in trace.backwards if b.order > steps[steps.index(last) - 1].order}
    new = any(fresh.intersection(ids) for ids in last.consumed.values())
    how = (
        f"it sums {most} backwards, all but the last of them already applied" if new else "no backward came in between"
    )
    labels = [
        Label(b.site, "adds to what is still there")
        for b in trace.backwards[-1:]
        if b.site is not None and any(b.id in ids for ids in last.consumed.values())
    ]
    if carried:
        cleaned = next((c for c in reversed(trace.clears) if c.site is not None), None)
        if cleaned is not None and cleaned.site is not None:
            labels.append(Label(cleaned.site, "clears other tensors than those that collect the gradient"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, parameters, 'follows', 'follow')} old gradients: "
        f"{optimizer.name}.step() applies them again at every update",
        last.site,
        f"at the last traced update {how}",
        labels,
        "gradients add up until they are cleared; nothing cleared these between two steps."
        + (" They were put there by hand, from tensors that still held the old ones." if carried else ""),
        f"{len(stale)} of {len(steps)} traced steps consumed deposits of an earlier update",
        "clear the network whose backward collects the gradient before each backward"
        if carried
        else f"call {optimizer.name}.zero_grad() once per update, before backward",
        parameters=trace.names(parameters),
        evidence={"stale_steps": len(stale), "steps": len(steps), "summed_backwards": most},
    )
