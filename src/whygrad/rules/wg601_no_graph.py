"""Backward was called on a loss without any graph, and no cut explains it.

PyTorch says "element 0 of tensors does not require grad and does not have a grad_fn". When the line
that cut the graph is known, that finding (WG101 to WG106) leads and this error is attached to it.
This rule answers when the loss simply does not depend on any trainable parameter.

```python bad
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
returns = torch.randn(8)
loss = -returns.mean()  # WG601
loss.backward()
optimizer.step()
```

```python good
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.randn(8, 4)).pow(2).mean()
loss.backward()
optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import explaining
from whygrad.finding import Finding, Label
from whygrad.source import expressions
from whygrad.trace import Optimizer, Raised, Trace
from whygrad.trace.cuts import Cut, cuts

CODE = "WG601"
NAME = "no-graph"


def check(trace: Trace) -> Iterator[Finding]:
    # torch refuses an empty list itself, and its models have their parameters from the start.
    idle = [o for o in trace.optimizers if not o.parameters and trace.framework == "tensorflow"]
    yield from (_nothing_given(trace, optimizer) for optimizer in idle)
    for error in explaining.raised(trace, CODE) if not idle else ():
        if error.region is not None or any(_causes(cut, error) for cut in cuts(trace)):
            continue  # The cut is the cause, and says so.
        found = explaining.finding(
            CODE,
            NAME,
            error,
            message=f"backward cannot start: {error.subject or 'the loss'} has no graph",
            here="computed here from values none of which requires grad",
            why="nothing that this loss was computed from requires a gradient, so there is nothing to differentiate.",
            fix="compute the loss from the output of the network that should train",
        )
        found.not_a_fix = "loss.requires_grad_(): backward then runs and trains nothing"
        yield found


def _causes(cut: Cut, error: Raised) -> bool:
    return cut.backward.id == error.backward or bool(cut.parameters & error.parameters)


def _nothing_given(trace: Trace, optimizer: Optimizer) -> Finding:
    """A model that builds itself with its first input was asked for its variables before that."""
    listed = expressions.listed_variables(optimizer.site) if optimizer.site is not None else None
    raised = trace.raised if trace.raised is not None and trace.raised.code == CODE else None
    seen = f"{raised.type}: {raised.message}" if raised is not None else f"{optimizer.steps} steps that moved nothing"
    return Finding(
        CODE,
        NAME,
        "error",
        f"{optimizer.name} is given no variables at all, so nothing can train",
        listed or optimizer.site,
        "an empty list when this ran",
        [Label(optimizer.site, "given to the optimizer here")] if optimizer.site is not None and listed else [],
        "a model that was never called or built has no variables yet: it gets them with its first input.",
        seen,
        "build the model first (model.build(input_shape), or call it once), then list its variables",
        evidence={"variables": "none", **({"raised": raised.message} if raised is not None else {})},
    )
