"""An optimizer steps while none of its parameters has a gradient.

The step comes before the backward, or the gradients were set to None just before it, so it changes
nothing. What the backward deposits afterwards is cleared before the next step.

The order of an update is: `zero_grad()`, `backward()`, (clip), `step()`.

```python bad
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    optimizer.step()  # WG302
    loss.backward()
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
from whygrad.trace import Trace
from whygrad.trace.protocol import Starved, starved

CODE = "WG302"
NAME = "step-without-gradient"


def check(trace: Trace) -> Iterator[Finding]:
    for case in starved(trace):
        if case.clear is None:
            yield _finding(trace, case)


def _finding(trace: Trace, case: Starved) -> Finding:
    optimizer = case.optimizer
    who = wording.whom(trace, optimizer.parameters)
    labels = [Label(b.site, "the gradient comes here, after the step") for b in case.backwards[-1:] if b.site]
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, optimizer.parameters, 'is', 'are')} not learning; "
        f"{optimizer.name}.step() never finds a gradient",
        case.step.site,
        "none of its parameters has a gradient here",
        labels,
        "a step uses what is in .grad at that moment: it came before the backward, and what the backward left was "
        "cleared before the next step.",
        f"{case.steps} of {wording.plural(case.steps, 'traced step')} found no gradient on "
        f"{wording.plural(len(optimizer.parameters), 'parameter')}",
        f"move {optimizer.name}.step() behind the backward, and zero_grad() before it",
        parameters=trace.names(optimizer.parameters),
        evidence={"steps": case.steps},
    )
