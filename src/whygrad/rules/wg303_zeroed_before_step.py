"""Gradients are cleared between the backward that deposits them and the step that should use them.

Either nothing is left for the step at all, or, in a loop over micro-batches or losses, only the last
one is: the earlier ones are thrown away.

Clear before the first backward of an update, never between backward and step.

```python bad
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    loss.backward()
    optimizer.zero_grad()  # WG303
    optimizer.step()
```

```python good
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Trace
from whygrad.trace.protocol import Discarded, Starved, discarded, starved

CODE = "WG303"
NAME = "zeroed-before-step"


def check(trace: Trace) -> Iterator[Finding]:
    for case in starved(trace):
        if case.clear is not None:
            yield _nothing_left(trace, case)
    for loss in discarded(trace):
        yield _thrown_away(trace, loss)


def _nothing_left(trace: Trace, case: Starved) -> Finding:
    optimizer, clear = case.optimizer, case.clear
    assert clear is not None
    who = wording.whom(trace, case.parameters)
    labels = [Label(b.site, "the gradient was deposited here") for b in case.backwards[-1:] if b.site]
    if case.step.site is not None:
        labels.append(Label(case.step.site, "finds nothing to apply"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, case.parameters, 'is', 'are')} not learning; every gradient is cleared "
        f"before {optimizer.name}.step()",
        clear.site,
        "clears the gradients that the step needs",
        labels,
        "zero_grad() removes what backward has just deposited, so the step has nothing to apply.",
        f"{case.steps} of {wording.plural(case.steps, 'traced step')} found no gradient",
        "move this before the backward, or behind the step",
        parameters=trace.names(case.parameters),
        evidence={"steps": case.steps},
    )


def _thrown_away(trace: Trace, loss: Discarded) -> Finding:
    who = wording.whom(trace, loss.parameters)
    labels = []
    if loss.backward.site is not None:
        labels.append(Label(loss.backward.site, "deposited here; only the last one before the step survives"))
    if loss.step.site is not None:
        labels.append(Label(loss.step.site, "consumes what is left"))
    total, dated = loss.lost + loss.used, wording.dated(loss.when)
    return Finding(
        CODE,
        NAME,
        "error",
        f"{loss.lost} of {total} gradients of {loss.backward.name} for {who} are thrown away before "
        f"{loss.optimizer.name}.step()" + (f", {dated}" if dated else ""),
        loss.clear.site,
        "clears what the backwards before it deposited",
        labels,
        "the gradients are cleared between two backwards of one update, so that the step follows the last one alone.",
        f"of {total} traced backwards {loss.lost} were cleared without any step using them"
        + wording.also_dated(loss.when),
        "clear once per update, before its first backward",
        parameters=trace.names(loss.parameters),
        evidence={"discarded": loss.lost, "consumed": loss.used} | loss.when.evidence,
    )
