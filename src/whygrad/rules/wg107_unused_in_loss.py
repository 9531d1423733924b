"""An optimizer holds parameters that no loss of its updates trains.

The parameters get no gradient because the loss does not depend on them, or only through a value
that is constant on purpose (an advantage, a target). Typical: a critic without a value loss, a head
that was built and never added to the loss, the wrong network's name in the loss.

Add the missing loss term, or leave the parameters out of the optimizer.

```python bad
import torch

policy = torch.nn.Linear(4, 2)
critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()])
for _ in range(3):
    obs = torch.randn(8, 4)
    advantage = 1.0 - critic(obs).squeeze(1).detach()
    loss = -(torch.log_softmax(policy(obs), -1)[:, 0] * advantage).mean()
    optimizer.zero_grad()
    loss.backward()  # WG107
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 2)
critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()])
for _ in range(3):
    obs = torch.randn(8, 4)
    value = critic(obs).squeeze(1)
    advantage = 1.0 - value.detach()
    loss = -(torch.log_softmax(policy(obs), -1)[:, 0] * advantage).mean() + (value - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Backward, Optimizer, Trace
from whygrad.trace.consumption import consumers
from whygrad.trace.membership import stale, unexplained, unheld
from whygrad.trace.untrained import Phase, phases

CODE = "WG107"
NAME = "unused-in-loss"


def check(trace: Trace) -> Iterator[Finding]:
    left = unexplained(trace) - {n for s in stale(trace) for n in s.old}
    if unheld(trace):
        left = {n for n in left if trace.parameter(n).used}
    for optimizer in trace.optimizers:
        mine = left.intersection(optimizer.parameters)
        backward = _last_loss(trace, optimizer)
        if mine and backward is not None:
            left -= mine
            yield _finding(trace, optimizer, backward, mine)
    yield from (_phase(trace, phase) for phase in phases(trace) if not phase.frozen)


def _phase(trace: Trace, phase: Phase) -> Finding:
    """A part of the run is often meant to do without some network: said, and no more."""
    who, of = wording.whom(trace, phase.parameters), wording.plural(trace.updates, "update")
    said = f"{who} got no gradient before update {phase.update} of {of}"
    if phase.over:
        gets = wording.verb(trace, phase.parameters, "gets", "get")
        said = f"{who} {gets} no gradient any more; the last one was seen at update {phase.update} of {of}"
    return Finding(
        CODE,
        NAME,
        "note",
        said,
        trace.holders[min(phase.parameters)][0].site,
        parameters=trace.names(phase.parameters),
        evidence={"last_update" if phase.over else "first_update": phase.update, "updates": trace.updates},
    )


def _last_loss(trace: Trace, optimizer: Optimizer) -> Backward | None:
    for backward in reversed(trace.backwards):
        if backward.how == "backward" and optimizer in consumers(trace, backward):
            return backward
    return None


def _finding(trace: Trace, optimizer: Optimizer, backward: Backward, mine: set[int]) -> Finding:
    who = wording.whom(trace, mine)
    depends = backward.root is not None and mine & trace.graph.depends(backward.root)
    used = any(trace.parameter(n).used for n in mine)
    how = "no loss of its updates depends on it, not even in value"
    fix = f"add a loss term for {who}, or leave it out of {optimizer.name}"
    if depends:
        how = "the loss depends on it only through constants: a weight, a target or an action"
    elif trace.compiled:
        how = "no gradient comes to it; what happens inside compiled functions was not seen"
        fix = f"run it once with TORCH_COMPILE_DISABLE=1, which shows the line inside; if there is none, {fix}"
    labels = []
    made = trace.parameter(min(mine)).created
    if optimizer.site is not None:
        labels.append(Label(optimizer.site, f"{optimizer.name} holds {wording.plural(len(mine), 'parameter')} of it"))
    if made is not None:
        labels.append(Label(made, "built here"))
    steps = max(trace.parameter(n).held_steps for n in mine)
    return Finding(
        CODE,
        NAME,
        "error" if used else "warning",
        f"{who} {wording.verb(trace, mine, 'is', 'are')} not learning; no loss trains {wording.of_them(trace, mine)}",
        backward.site,
        f"this loss reaches {wording.plural(len(backward.deposits), 'parameter')}, none of them in {who}",
        labels,
        f"{how}.",
        f"{wording.looks(trace, mine)}; every gradient of {who} is None",
        fix,
        parameters=trace.names(mine),
        evidence={"updates": steps, "depends_in_value": bool(depends), "used": used},
    )
