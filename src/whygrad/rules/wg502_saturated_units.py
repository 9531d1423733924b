"""Tanh or sigmoid units sit at their ends, where the derivative is next to nothing.

Inputs in raw units (positions in metres, pixels up to 255), large initial weights or a large learning rate push the
argument of a squashing function far from zero. There its slope is zero for all practical purposes, and the layers
below stop learning although nothing looks broken.

Scale the inputs, initialise the last layer small, or bound the argument.

```python bad
import torch

actor = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Tanh())
optimizer = torch.optim.SGD(actor.parameters(), lr=0.01)
for _ in range(30):
    obs = 1000 * torch.randn(8, 4)
    action = actor(obs)  # WG502
    loss = (action - 0.3).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

actor = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Tanh())
optimizer = torch.optim.SGD(actor.parameters(), lr=0.01)
for _ in range(30):
    obs = torch.randn(8, 4)
    action = actor(obs)
    loss = (action - 0.3).pow(2).mean()
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
from whygrad.trace.activity import SQUASHERS
from whygrad.trace.evaluations import Evaluation, evaluations, same_line
from whygrad.trace.paths import only_through

CODE = "WG502"
NAME = "saturated-units"
MOST = 0.8
"""Share of the outputs whose slope is below a thousandth. A policy that ends at its bounds because the best action
lies there gets there late; what is saturated in the first updates already was not put there by learning."""
EARLY = 5
"""Updates from the first evaluation that count as the start."""
OFTEN = 3
"""Latest traced evaluations that must be saturated as well."""


def check(trace: Trace) -> Iterator[Finding]:
    said: set[object] = set()
    for group in evaluations(trace, _squashes):
        early = [e for e in group if e.backward.update - group[0].backward.update < EARLY]
        stuck = all(_killed(e.op) >= MOST for e in (*early[-2:], *group[-OFTEN:]))
        last = group[-1]
        if len(group) < OFTEN or not stuck or last.op.site in said:
            continue
        gates = same_line(trace, last, lambda op: _killed(op) >= MOST)
        lost = only_through(trace.graph, last.backward.root or 0, *gates)
        if lost:
            said.add(last.op.site)
            yield _finding(trace, last, lost, len(group))


def _killed(op: Op) -> float:
    return op.facts.killed if op.facts is not None and op.facts.killed is not None else 0.0


def _squashes(op: Op) -> bool:
    return op.name in SQUASHERS and op.facts is not None and op.facts.killed is not None


def _finding(trace: Trace, last: Evaluation, lost: frozenset[int], times: int) -> Finding:
    who = wording.whom(trace, lost)
    share = f"{_killed(last.op):.0%}"
    labels = [Label(last.backward.site, "asks for its gradient")] if last.backward.site is not None else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, lost, 'gets', 'get')} next to no gradient: {last.op.name} is saturated for "
        f"{share} of its outputs",
        last.op.site,
        f"{share} of the outputs sit at the ends, where the slope is below 0.001",
        labels,
        "the argument is so large that the output no longer reacts to it; the gradient vanishes on the way back.",
        f"in the first traced updates and in the latest of {times}, up to update {last.backward.update + 1}",
        "scale the inputs to about one, initialise the layer before it small, or lower the learning rate",
        parameters=trace.names(lost),
        evidence={"saturated": _killed(last.op), "evaluations": times},
    )
