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
    where, why, fix = _cause(case)
    labels = [Label(b.site, where) for b in case.backwards[-1:] if b.site]
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, optimizer.parameters, 'is', 'are')} not learning; "
        f"{optimizer.name}.step() {_when(case)}",
        case.step.site,
        "none of its parameters has a gradient here",
        labels,
        why,
        f"{case.steps} of {wording.plural(case.steps, 'traced step')} found no gradient on "
        f"{wording.plural(len(optimizer.parameters), 'parameter')}" + wording.also_dated(case.when),
        fix.format(name=optimizer.name),
        parameters=trace.names(optimizer.parameters),
        evidence={"steps": case.steps} | (case.when.evidence if case.when is not None else {}),
    )


def _when(case: Starved) -> str:
    dated = wording.dated(case.when) if case.when is not None else ""
    return f"finds no gradient, {dated}" if dated else "never finds a gradient"


def _cause(case: Starved) -> tuple[str, str, str]:
    """What to say at the backward, why the step finds nothing, and what to do about it."""
    if not case.backwards:
        return (
            "",
            "the closure handed to step() returns the loss and never calls backward on it.",
            "call loss.backward() inside the closure, after {name}.zero_grad()",
        )
    if all(backward.how == "grad" for backward in case.backwards):
        return (
            "returns the gradients; .grad stays empty",
            "torch.autograd.grad hands the gradients to the caller and leaves .grad alone; a step only sees .grad.",
            "use loss.backward(), or put the results into p.grad before {name}.step()",
        )
    return (
        "the gradient comes here, after the step",
        "a step uses what is in .grad at that moment: it came before the backward, and what the backward left was "
        "cleared before the next step.",
        "move {name}.step() behind the backward, and zero_grad() before it",
    )
