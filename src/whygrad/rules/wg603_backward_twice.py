"""A second backward runs through a part of the graph that the first one has freed.

PyTorch says "Trying to backward through the graph a second time". Two losses share a forward, or a
stored tensor (log-prob, hidden state, value) still hangs on the graph of an earlier update.

Repeat the forward for every backward, sum the losses and call backward once, or detach what is
carried over.

```python bad
import torch

net = torch.nn.Linear(4, 2)
features = torch.tanh(net(torch.randn(8, 4)))  # WG603
for _ in range(2):
    loss = features.pow(2).mean()
    loss.backward()
```

```python good
import torch

net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
obs = torch.randn(8, 4)
for _ in range(2):
    features = torch.tanh(net(obs))
    loss = features.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import explaining
from whygrad.finding import Finding
from whygrad.trace import Trace
from whygrad.trace.carrying import carried
from whygrad.trace.ratios import reused

CODE = "WG603"
NAME = "backward-twice"


def check(trace: Trace) -> Iterator[Finding]:
    for error in explaining.raised(trace, CODE):
        if any(case.backward.id == error.backward for case in carried(trace)):
            return  # A value stored with its graph: WG207 names the line.
        if reused(trace):
            return  # The old side of a ratio: WG204 says what it should have been.
        found = explaining.finding(
            CODE,
            NAME,
            error,
            message=f"backward fails: {error.subject or 'part of the graph'} was already used by an earlier backward",
            here="computed once, differentiated twice" if error.culprit is not None else "raised here",
            why="the first backward freed the graph behind this value; a second one finds nothing to go through.",
            fix="repeat this forward for each backward, or add the losses and call backward once; detach() what is "
            "only carried over",
        )
        found.not_a_fix = "retain_graph=True: it hides that weights changed in between and lets the graph grow"
        yield found
