"""Two optimizers step the same parameters with the same gradient, or one holds them twice.

Each applies the full gradient with its own momentum and learning rate, so the update is about twice as
large as meant and the two states work against each other. Two optimizers that take turns, each with a
loss of its own and cleared gradients in between, are fine.

An encoder under an actor and its critic, held by both optimizers, is a warning: the actor's loss goes through the
critic, so its step bends the encoder to raise the critic's values.

Leave the shared parameters out of one of the two.

```python bad
import torch

encoder, head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
encoder_optimizer = torch.optim.Adam(encoder.parameters())
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()])  # WG306
for _ in range(4):
    loss = (head(encoder(torch.randn(8, 4))) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    encoder_optimizer.step()
```

```python good
import torch

encoder, head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
encoder_optimizer = torch.optim.Adam(encoder.parameters())
optimizer = torch.optim.Adam(head.parameters())
for _ in range(4):
    loss = (head(encoder(torch.randn(8, 4))) - 1.0).pow(2).mean()
    encoder_optimizer.zero_grad()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    encoder_optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Optimizer, Trace
from whygrad.trace.crosstalk import crosstalk, owned_elsewhere, shared_below
from whygrad.trace.leaks import Leak, by_loss

CODE = "WG306"
NAME = "doubly-owned-parameter"


def check(trace: Trace) -> Iterator[Finding]:
    for optimizer in trace.optimizers:
        if optimizer.twice and optimizer.steps:
            yield _finding(trace, optimizer, optimizer, set(optimizer.twice), optimizer.steps)
    nested = {(step.within, step.optimizer) for step in trace.steps}  # One that steps another does so in its place.
    for index, second in enumerate(trace.optimizers):
        for first in trace.optimizers[:index]:
            both = set(first.parameters) & set(second.parameters)
            if {(first.id, second.id), (second.id, first.id)} & nested:
                continue
            shared, times = _same_gradient(trace, first, second, both)
            if shared and times > 1:
                yield _finding(trace, first, second, shared, times)
    said: set[int] = set()
    judged = by_loss(trace, (leak for leak, kind in crosstalk(trace) if kind == "judged"))
    leaks = [(leak, "error") for leak in judged] + [(leak, "warning") for leak in by_loss(trace, shared_below(trace))]
    for leak, severity in leaks:
        owner = owned_elsewhere(trace, leak)
        for optimizer in leak.optimizers if owner is not None else ():
            if optimizer.id not in said:
                assert owner is not None
                said.add(optimizer.id)
                yield _by_another_loss(trace, leak, optimizer, owner, severity)


def _same_gradient(trace: Trace, first: Optimizer, second: Optimizer, both: set[int]) -> tuple[set[int], int]:
    """Parameters on which both consumed one and the same deposit, and how many deposits there were."""
    taken: dict[int, dict[int, set[int]]] = {first.id: {}, second.id: {}}
    for step in trace.steps:
        if step.optimizer in taken and not step.closure:
            for number in both.intersection(step.consumed):
                taken[step.optimizer].setdefault(number, set()).update(step.consumed[number])
    common = {n: taken[first.id].get(n, set()) & taken[second.id].get(n, set()) for n in both}
    return {n for n, ids in common.items() if ids}, max((len(ids) for ids in common.values()), default=0)


def _by_another_loss(trace: Trace, leak: Leak, optimizer: Optimizer, owner: Optimizer, severity: str) -> Finding:
    who = wording.whom(trace, leak.parameters)
    labels = [Label(owner.site, f"{owner.name} trains {who}")] if owner.site is not None else []
    if leak.backward.site is not None:
        labels.append(Label(leak.backward.site, f"also leaves gradient on {who}, which {optimizer.name} applies"))
    return Finding(
        CODE,
        NAME,
        severity,
        f"{who} {wording.verb(trace, leak.parameters, 'is', 'are')} trained by {leak.backward.name} as well: "
        f"{optimizer.name} holds {who} beside {owner.name}{wording.in_part(leak.when)}",
        optimizer.site,
        f"holds {wording.plural(len(leak.parameters), 'parameter')} that {owner.name} trains",
        labels,
        f"{leak.backward.name} goes through {who} to train what lies below; an optimizer that holds both bends {who} "
        "to please this loss."
        if severity == "error"
        else f"{leak.backward.name} reaches {who} through the network that judges, not only through what it "
        f"is to train: the step bends {who} until the judgement looks better, against {owner.name}.",
        f"{leak.backward.name} deposits on {wording.plural(len(leak.parameters), 'parameter')} of {who}, and the step "
        f"of {optimizer.name} applies it",
        f"leave {who} out of {optimizer.name}",
        parameters=trace.names(leak.parameters),
        evidence={"shared": len(leak.parameters), "loss": leak.backward.name},
    )


def _finding(trace: Trace, first: Optimizer, second: Optimizer, shared: set[int], times: int) -> Finding:
    who = wording.whom(trace, shared)
    itself = first is second
    labels = [] if itself or first.site is None else [Label(first.site, f"{first.name} holds {who} already")]
    names = second.name if itself else f"{first.name} and {second.name}"
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, shared, 'is', 'are')} stepped twice per update, by {names}",
        second.site,
        f"holds {wording.plural(len(shared), 'parameter')} {'twice' if itself else f'that {first.name} steps as well'}",
        labels,
        "both apply the same gradient: the update is about twice as large as meant, with two sets of momenta.",
        f"{wording.plural(times, 'traced backward')} consumed by both"
        if not itself
        else f"{wording.plural(times, 'step')} with duplicates in the parameter list",
        f"leave {who} out of one of the two" if not itself else "list every parameter once",
        parameters=trace.names(shared),
        evidence={"shared": len(shared), "backwards": times},
    )
