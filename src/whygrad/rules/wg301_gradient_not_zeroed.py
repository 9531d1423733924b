"""A step consumes gradient that an earlier step of the same parameters has consumed before.

Gradients add up in `.grad` until somebody clears them. Without `zero_grad()` between two updates each
step follows the sum of all batches so far; with the wrong owner cleared (a local network's gradients
are pushed to a global optimizer) the old part travels along.

Clear the gradients once per update: `optimizer.zero_grad()` before `backward()`, of the very
parameters that collect them.

```python bad
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    loss.backward()
    optimizer.step()  # WG301
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
from whygrad.trace import Optimizer, Step, Trace
from whygrad.trace.spells import Spell, spell

CODE = "WG301"
NAME = "gradient-not-zeroed"
OFTEN = 2
"""Stale steps before it counts: one may be the seam between two phases."""


def check(trace: Trace) -> Iterator[Finding]:
    for optimizer in trace.optimizers:
        steps = [s for s in trace.steps if s.optimizer == optimizer.id and not s.closure]
        found = _stale(trace, steps)
        when = spell([(step.update, bool(again)) for step, again in found], OFTEN)
        if when is not None:
            stale = [(step, again) for step, again in found if again and when.first <= step.update <= when.last]
            yield _finding(trace, optimizer, steps, stale, when)


def _stale(trace: Trace, steps: list[Step]) -> list[tuple[Step, set[int]]]:
    """Steps that could show it, with the parameters on which they found what an earlier step had used.

    The first step after tracing was taken up can do so only where what the step before it left is known.
    """
    used: dict[int, set[int]] = {}
    found: list[tuple[Step, set[int]]] = []
    window = -1
    for step in steps:
        again = {n for n, ids in step.consumed.items() if used.get(n, set()).intersection(ids)}
        fresh = {n for n, ids in step.consumed.items() if ids}
        followed = trace.window(step.order) == window or step.leftover is not None
        if followed and (fresh or not step.consumed):  # Else it came from where nobody looks.
            found.append((step, again | (step.leftover or frozenset()) & fresh))
        window = trace.window(step.order)
        for number, ids in step.consumed.items():
            used.setdefault(number, set()).update(ids)
    return found


def _finding(
    trace: Trace, optimizer: Optimizer, steps: list[Step], stale: list[tuple[Step, set[int]]], when: Spell
) -> Finding:
    parameters = {n for _, again in stale for n in again}
    who = wording.whom(trace, parameters)
    last = max((step for step, _ in stale), key=_summed)
    most = _summed(last)
    carried = last.assigned & parameters
    earlier = max((s.order for s in steps if s.order < last.order), default=0)
    fresh = [b for b in trace.backwards if earlier < b.order < last.order]
    fresh = [b for b in fresh if any(b.id in ids for ids in last.consumed.values())]
    labels = [Label(b.site, "adds to what is still there") for b in fresh[-1:] if b.site is not None]
    if carried:
        cleaned = next((c for c in reversed(trace.clears) if c.site is not None), None)
        if cleaned is not None and cleaned.site is not None:
            labels.append(Label(cleaned.site, "clears other tensors than those that collect the gradient"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, parameters, 'follows', 'follow')} old gradients: "
        f"{optimizer.name}.step() applies them again{_when(when)}",
        last.site,
        f"at update {last.update} {_found_there(most, bool(fresh), all_of_them=last.update <= len(steps))}",
        labels,
        "gradients add up until they are cleared; nothing cleared these between two steps."
        + (" They were put there by hand, from tensors that still held the old ones." if carried else ""),
        f"{when.times} of {when.looks} traced steps that follow a known one consumed deposits of an earlier update"
        + wording.also_dated(when),
        "clear the network whose backward collects the gradient before each backward"
        if carried
        else f"call {optimizer.name}.zero_grad() once per update, before backward",
        parameters=trace.names(parameters),
        evidence={"stale_steps": when.times, "steps": when.looks, "summed_backwards": most} | when.evidence,
    )


def _when(when: Spell) -> str:
    dated = wording.dated(when)
    return f", {dated}" if dated else " at every update"


def _summed(step: Step) -> int:
    """How many backwards it is known to have applied at once."""
    return max((len(set(ids)) for ids in step.consumed.values()), default=0)


def _found_there(backwards: int, fresh: bool, *, all_of_them: bool) -> str:
    if not fresh:
        return "no backward came in between"
    if backwards < 2:
        return "it adds a backward to what the step before it has already applied"
    count = f"{backwards}" if all_of_them else f"at least {backwards}"
    return f"it sums {count} backwards, all but the last of them already applied"
