"""An optimizer holds frozen parameters, and a loss that depends on them trains nothing else.

Parameters with `requires_grad=False` never get a gradient. Freezing a part on purpose (a backbone,
a reference model, the base of an adapter) is fine and stays silent here. It is an error when the
freeze took everything that a loss, or a term of one, could have trained.

```python bad
import torch

policy = torch.nn.Linear(4, 2)
value = torch.nn.Linear(4, 1)
for p in policy.parameters():
    p.requires_grad_(False)  # WG108
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()])
for _ in range(3):
    obs = torch.randn(8, 4)
    policy_loss = -torch.log_softmax(policy(obs), -1)[:, 0].mean()
    loss = policy_loss + value(obs).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

trunk = torch.nn.Linear(4, 4)
policy = torch.nn.Linear(4, 2)
value = torch.nn.Linear(4, 1)
trunk.requires_grad_(False)
optimizer = torch.optim.Adam([*trunk.parameters(), *policy.parameters(), *value.parameters()])
for _ in range(3):
    hidden = trunk(torch.randn(8, 4))
    policy_loss = -torch.log_softmax(policy(hidden), -1)[:, 0].mean()
    loss = policy_loss + value(hidden).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import cutting, wording
from whygrad.finding import Finding, Label
from whygrad.trace import Trace
from whygrad.trace.consumption import frozen
from whygrad.trace.cuts import Cut
from whygrad.trace.untrained import Phase, phases

CODE = "WG108"
NAME = "frozen-parameter"


def check(trace: Trace) -> Iterator[Finding]:
    harmless = set(frozen(trace))
    for cut in cutting.of_kind(trace, "frozen"):
        harmless -= cut.parameters
        yield _finding(trace, cut)
    if harmless:
        holder = trace.holders[min(harmless)][0]
        held = wording.plural(len(harmless), "frozen parameter")
        yield Finding(
            CODE,
            NAME,
            "note",
            f"{holder.name} holds {held} of {wording.whom(trace, harmless)}; harmless, because every loss still "
            "trains others",
            holder.site,
            parameters=trace.names(harmless),
        )
    for phase in phases(trace):
        if phase.frozen:
            yield _frozen_later(trace, phase)


def _frozen_later(trace: Trace, phase: Phase) -> Finding:
    """Often meant: said, and no more."""
    is_frozen = wording.verb(trace, phase.parameters, "is", "are")
    return Finding(
        CODE,
        NAME,
        "note",
        f"{wording.whom(trace, phase.parameters)} {is_frozen} frozen by now; the last gradient was seen at update "
        f"{phase.update} of {wording.plural(trace.updates, 'update')}",
        trace.parameter(min(phase.parameters)).frozen or trace.holders[min(phase.parameters)][0].site,
        parameters=trace.names(phase.parameters),
        evidence={"last_update": phase.update, "updates": trace.updates},
    )


def _finding(trace: Trace, cut: Cut) -> Finding:
    who = wording.whom(trace, cut.parameters)
    holder = next((o for n in cut.parameters for o in trace.holders.get(n, [])), None)
    built = holder.site if holder is not None else None
    part = cutting.part(trace, cut)
    is_frozen = wording.verb(trace, cut.parameters, "is", "are")
    labels = [Label(built, "the optimizer holds them all the same")] if built and cut.site else []
    if cut.backward.site is not None:
        labels.append(Label(cut.backward.site, "nothing that this loss depends on here can train"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {is_frozen} frozen, and {part} trains nothing else",
        cut.site or built,
        "frozen here" if cut.site else "this optimizer holds frozen parameters",
        labels,
        "parameters with requires_grad=False get no gradient, and this loss depends on no other parameter of the "
        "optimizer.",
        f"{trace.updates} of {wording.plural(trace.updates, 'update')}; requires_grad is False for "
        f"{wording.plural(len(cut.parameters), 'parameter')}",
        "freeze only what should stay fixed, or unfreeze before the optimizer steps",
        parameters=trace.names(cut.parameters),
        evidence={"loss": cut.backward.name, "updates": trace.updates},
    )
