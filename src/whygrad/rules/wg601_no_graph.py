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
from whygrad.finding import Finding
from whygrad.trace import Raised, Trace
from whygrad.trace.cuts import Cut, cuts

CODE = "WG601"
NAME = "no-graph"


def check(trace: Trace) -> Iterator[Finding]:
    for error in explaining.raised(trace, CODE):
        if error.region is not None or any(_causes(cut, error) for cut in cuts(trace)):
            continue  # The cut is the cause, and says so.
        if error.detail.get("variables") == "none":
            yield _nothing_given(error)
            continue
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


def _nothing_given(error: Raised) -> Finding:
    return explaining.finding(
        CODE,
        NAME,
        error,
        message=f"{error.subject or 'the optimizer'} is given no variables at all, so nothing can train",
        here="empty when this ran",
        why="a model that was never called or built has no variables yet: it gets them with its first input.",
        fix="build the model first (model.build(input_shape), or call it once), then list its variables",
    )
