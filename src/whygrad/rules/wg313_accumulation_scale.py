"""Gradients of several micro-batches are summed into one step with the wrong scale.

Backwards add up. With a loss that is a mean over its micro-batch, the sum must be divided by the number of
micro-batches once: in the loss, in the gradient, or in the learning rate. Never divided, the update grows with
their number; divided twice (a total token count, and the number of micro-batches again), it shrinks.

Divide exactly once.

```python bad
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
accumulation_steps = 4
for step in range(16):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()  # WG313
    loss.backward()
    if (step + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

```python good
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
accumulation_steps = 4
for step in range(16):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    (loss / accumulation_steps).backward()
    if (step + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.source.accumulating import accumulates, divides
from whygrad.trace import Backward, Site, Trace
from whygrad.trace.accumulation import Accumulation, accumulations

CODE = "WG313"
NAME = "accumulation-scale"
ONCE = 1.5
"""A divisor above this is meant to be a count."""


def check(trace: Trace) -> Iterator[Finding]:
    for case in accumulations(trace):
        files = trace.files
        squared = case.count > 1 and math.isclose(case.divided_by, case.count**2, rel_tol=1e-3)
        if case.divided_by > ONCE and (case.shared_total or case.by_hand > ONCE or squared):
            yield _finding(trace, case, twice=True)
        elif case.undivided and accumulates(files) and not divides(files):
            yield _finding(trace, case, twice=False)


def _finding(trace: Trace, case: Accumulation, *, twice: bool) -> Finding:
    backward = case.backward
    who = wording.whom(trace, case.parameters)
    labels = []
    if case.step.site is not None:
        labels.append(Label(case.step.site, f"applies the sum of {case.count} backwards"))
    if twice and case.total is not None and case.total.site is not None:
        labels.append(Label(case.total.site, "already divides by a total over all micro-batches"))
    effect = f"1/{case.divided_by:g} of" if twice else f"{case.count} times"
    return Finding(
        CODE,
        NAME,
        "warning",
        f"the update of {who} is {effect} what the whole batch would give: it depends on the number of micro-batches",
        _place(backward),
        "divided a second time" if twice else "a mean over one micro-batch, never divided by their number",
        labels,
        "the micro-batches are normalised twice: in the loss, and by a total or in the gradient on top."
        if twice
        else "gradients of the micro-batches add up; the sum of means is not the mean of the whole.",
        f"{case.count} backwards per step in {wording.plural(case.steps, 'traced step')}",
        "divide by one of the two" if twice else f"divide the loss by the number of micro-batches ({case.count})",
        parameters=trace.names(case.parameters),
        evidence={"backwards_per_step": case.count, "divided_by": case.divided_by, "twice": twice},
    )


def _place(backward: Backward) -> Site | None:
    """The loss as the function that calls backward sees it."""
    made, site = backward.made, backward.site
    return made if made is not None and site is not None and made.function == site.function else site
