"""A target network is stepped by an optimizer with gradient.

It is only ever meant to be copied from the online network. Here an optimizer holds it and the loss reaches
it through the target, so it is pulled towards the prediction between two copies.

Leave the target network out of the optimizer and compute the target under `torch.no_grad()`.

```python bad
import copy
import torch

q_net = torch.nn.Linear(4, 2)
target_net = copy.deepcopy(q_net)
optimizer = torch.optim.SGD([*q_net.parameters(), *target_net.parameters()], lr=0.01)  # WG202
for _ in range(4):
    obs, next_obs, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    target = reward + 0.99 * target_net(next_obs).max(1).values
    loss = torch.nn.functional.mse_loss(q_net(obs)[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    target_net.load_state_dict(q_net.state_dict())
```

```python good
import copy
import torch

q_net = torch.nn.Linear(4, 2)
target_net = copy.deepcopy(q_net)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(4):
    obs, next_obs, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    target = reward + 0.99 * target_net(next_obs).max(1).values.detach()
    loss = torch.nn.functional.mse_loss(q_net(obs)[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    target_net.load_state_dict(q_net.state_dict())
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import leaking, wording
from whygrad.finding import Finding, Label
from whygrad.trace import Optimizer, Trace
from whygrad.trace.leaks import Leak, attached_targets, lasting, leak_onto
from whygrad.trace.losses import kept
from whygrad.trace.refreshing import averages, copied_only

CODE = "WG202"
NAME = "target-net-trained"


def check(trace: Trace) -> Iterator[Finding]:
    copies = copied_only(trace)
    found: dict[int, tuple[Optimizer, list[Leak]]] = {}
    targets = [leak for leak, _ in attached_targets(trace) if leak.parameters <= copies]
    for leak in (*targets, *_averaged(trace)):
        for optimizer in leak.optimizers:
            found.setdefault(optimizer.id, (optimizer, []))[1].append(leak)
    for optimizer, leaks in found.values():
        whole = lasting(trace, leaks)
        if whole is not None:
            yield _finding(trace, optimizer, whole, whole.parameters.intersection(optimizer.parameters))


def _averaged(trace: Trace) -> Iterator[Leak]:
    """Averages of another network that a step moves with gradient, whatever the loss looks like."""
    averaged = averages(trace)
    for backward in kept(trace):
        assert backward.root is not None
        op = trace.graph[backward.root]
        found = leak_onto(trace, backward, op, op, averaged & trace.graph.reach(backward.root))
        if found is not None:
            yield found


def _finding(trace: Trace, optimizer: Optimizer, leak: Leak, parameters: frozenset[int]) -> Finding:
    who = wording.whom(trace, parameters)
    labels = leaking.labels(trace, leak, "the target network's output enters with its gradient")
    copy = next((c for c in reversed(trace.copies) if c.into & parameters and c.sources), None)
    if copy is not None and copy.site is not None:
        labels.append(Label(copy.site, f"{who} is copied from {wording.whom(trace, copy.sources)} here"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, parameters, 'is a target network', 'are target networks')} and "
        f"{optimizer.name} trains {wording.verb(trace, parameters, 'it', 'them')}{wording.in_part(leak.when)}",
        optimizer.site,
        f"holds {wording.plural(len(parameters), 'parameter')} of {who}",
        labels,
        "a target network changes by copying alone; stepped with gradient it is pulled towards the prediction it is to "
        "hold in place.",
        leaking.seen(trace, leak),
        f"leave {who} out of {optimizer.name} and compute the target under torch.no_grad()",
        parameters=trace.names(parameters),
        evidence=leaking.evidence(leak),
    )
