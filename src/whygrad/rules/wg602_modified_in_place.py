"""A value that backward needs was overwritten after the forward used it.

PyTorch says "one of the variables needed for gradient computation has been modified by an inplace
operation". Autograd keeps inputs or outputs of some operations; `x += ...`, `x[...] = ...`, `relu_`
or an `optimizer.step()` between forward and backward changes what it kept.

Use the out-of-place form, or move the step behind the backward that needs the old weights.

```python bad
import torch

net = torch.nn.Linear(4, 2)
probs = torch.softmax(net(torch.randn(8, 4)), -1)
probs[:, 0] = 0.0  # WG602
probs.pow(2).sum().backward()
```

```python good
import torch

net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
probs = torch.softmax(net(torch.randn(8, 4)), -1)
masked = probs * torch.tensor([0.0, 1.0])
masked.pow(2).sum().backward()
optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import explaining
from whygrad.finding import Finding
from whygrad.trace import Trace
from whygrad.trace.carrying import carried

CODE = "WG602"
NAME = "modified-in-place"


def check(trace: Trace) -> Iterator[Finding]:
    for error in explaining.raised(trace, CODE):
        stepped = error.culprit in {step.site for step in trace.steps}
        if stepped and any(case.backward.id == error.backward for case in carried(trace)):
            return  # A value stored with its graph: WG207 names the line.
        what = error.subject or "a value that backward needs"
        known = error.culprit is not None
        found = explaining.finding(
            CODE,
            NAME,
            error,
            message=f"backward fails: {what} was overwritten after the forward had used it",
            here=("the step changes these weights in place" if stepped else "overwritten here, in place")
            if known
            else "raised here",
            why="autograd kept this value to compute the gradient, and it is no longer what the forward saw.",
            fix="run this backward before the step, or repeat the forward after it"
            if stepped
            else "use the out-of-place form (x = x + y, torch.where, clone() first)",
        )
        found.not_a_fix = "retain_graph=True: it keeps the graph, not the value"
        yield found
