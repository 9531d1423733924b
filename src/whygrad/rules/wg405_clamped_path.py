"""A limit stops the gradient of almost the whole batch.

Outside its bounds `clamp` is constant, so its derivative is exactly zero. When nearly all values lie outside and
no other path leads around it, the network below cannot move, not even back into the bounds.

Widen the bounds, scale the output so that it fits (tanh), or clamp what needs no gradient (targets, actions that
are played).

```python bad
import torch

actor = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(actor.parameters(), lr=0.01)
for _ in range(4):
    obs = torch.randn(8, 4)
    action = (actor(obs) + 20.0).clamp(-1, 1)  # WG405
    loss = (action - 0.5).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

actor = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(actor.parameters(), lr=0.01)
for _ in range(4):
    obs = torch.randn(8, 4)
    action = torch.tanh(actor(obs))
    loss = (action - 0.5).pow(2).mean()
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
from whygrad.trace.evaluations import Evaluation, evaluations, same_line
from whygrad.trace.paths import only_through

CODE = "WG405"
NAME = "clamped-path"
LIMITS = frozenset({"clamp", "amin", "amax", "minimum", "maximum"})
ALMOST_ALL = 0.95
"""Share of the batch outside the bounds: a few values inside keep the network learning."""
OFTEN = 3
"""Evaluations in which almost nothing passed, the latest among them."""


def check(trace: Trace) -> Iterator[Finding]:
    said: set[object] = set()
    for group in evaluations(trace, _limits):
        last = group[-1]
        dead = [e for e in group if _kills(e.op)]
        if len(dead) < OFTEN or dead[-1] is not last or last.op.site in said:
            continue
        lost = only_through(trace.graph, last.backward.root or 0, *same_line(trace, last, _kills))
        if lost and len(dead) * 2 >= len(group):
            said.add(last.op.site)
            yield _finding(trace, last, lost, len(dead), len(group))


def _limits(op: Op) -> bool:
    return op.name in LIMITS and op.facts is not None and op.facts.killed is not None


def _kills(op: Op) -> bool:
    return op.facts is not None and (op.facts.killed or 0.0) >= ALMOST_ALL


def _finding(trace: Trace, last: Evaluation, lost: frozenset[int], dead: int, seen: int) -> Finding:
    assert last.op.facts is not None
    assert last.op.facts.killed is not None
    who = wording.whom(trace, lost)
    share = f"{last.op.facts.killed:.0%}"
    labels = []
    if last.backward.site is not None:
        labels.append(Label(last.backward.site, f"asks for a gradient that ends at {last.op.written}"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, lost, 'gets', 'get')} no gradient from {last.backward.name}: {share} of the "
        f"values lie outside the bounds of {last.op.written}",
        last.op.site,
        f"constant for {share} of the batch: the derivative is zero",
        labels,
        f"outside its bounds {last.op.written} does not depend on its input, and every path to {who} runs through it.",
        f"at least {ALMOST_ALL:.0%} outside in {dead} of {seen} traced evaluations, the latest included",
        "widen the bounds, scale the output to fit (tanh), or clamp only where no gradient is needed",
        parameters=trace.names(lost),
        evidence={"outside": last.op.facts.killed, "evaluations": seen},
    )
