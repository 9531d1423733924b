"""A step finds gradients and leaves every value exactly as it was.

The learning rate is zero (a scheduler that starts or ends there, a typo, an exhausted warm-up), the
parameter group is overridden, or the update is smaller than the precision of the weights: a bfloat16
weight of 1.0 does not move by less than 0.004.

Print `optimizer.param_groups[0]["lr"]`; keep a float32 copy of low-precision weights.

```python bad
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
for _ in range(4):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # WG309
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
from whygrad.trace.magnitudes import applied
from whygrad.trace.spells import Spell, throughout
from whygrad.trace.unmoved import AT_REST, NEXT_TO_NOTHING, OFTEN, compared, largest, left_alone

CODE = "WG309"
NAME = "step-changes-nothing"
LASTING = 4
"""Compared steps in a row that change nothing, where others do."""
LONG = 20
PART = 0.25
"""Of the run: many schedules reach zero in its last steps."""


def check(trace: Trace) -> Iterator[Finding]:
    for optimizer in trace.optimizers:
        looked = _not_at_rest(trace, optimizer, compared(trace, optimizer))
        when = throughout([(step.update, not step.changed) for step in looked], OFTEN, int(LASTING))
        always = when is not None and when.times == len(looked)
        if not always and _scheduled_away(optimizer):
            yield _ended(trace, optimizer, optimizer.stopped or 0)
        elif when is not None and (always or when.over or optimizer.stopped is None):
            part = [s for s in looked if when.first <= s.update <= when.last]
            idle = _finding(trace, optimizer, part, when)
            yield wording.past(idle, when) if when.over and _at_zero(optimizer, part) else idle
        else:
            yield from _part(trace, optimizer)


def _part(trace: Trace, optimizer: Optimizer) -> Iterator[Finding]:
    """Of several modules or parameter groups, those that stand still."""
    numbers = left_alone(trace, optimizer)
    rates = list(dict.fromkeys(optimizer.rate(n) for n in sorted(numbers)))
    zero = rates == [0.0]
    if not numbers or (zero and optimizer.governed):
        return  # A schedule may have its reasons, and its time may come after the run: that is for the verdict.
    steps = [step for step in compared(trace, optimizer) if step.stayed & numbers]
    known = [rate for rate in rates if rate is not None]
    yield Finding(
        CODE,
        NAME,
        "error",
        f"{wording.whom(trace, numbers)} {wording.verb(trace, numbers, 'is', 'are')} not learning; "
        f"{optimizer.name}.step() changes none of {wording.its(trace, numbers)}",
        steps[-1].site,
        f"applies a non-zero gradient to {wording.whom(trace, numbers)} and leaves every value bit-identical",
        [Label(optimizer.site, f"{optimizer.name} is built here")] if optimizer.site is not None else [],
        "the learning rate of the parameter group is zero."
        if zero
        else "the update is lost: it is zero or below the weights' precision.",
        f"{len(steps)} of {len(steps)} compared steps; "
        f"the first values still, {min(trace.parameter(n).still for n in numbers)} updates on; learning rate "
        + (", ".join(f"{rate:g}" for rate in known) or "unknown"),
        "give the group a learning rate above zero, or freeze what is meant to stand still: requires_grad_(False)"
        if zero
        else "raise the learning rate of the group, or keep the weights in float32",
        parameters=trace.names(numbers),
        evidence={"steps": len(steps), "learning_rates": known},
    )


def _not_at_rest(trace: Trace, optimizer: Optimizer, steps: list[Step]) -> list[Step]:
    """Without the steps that have nothing left to change: next to no gradient, at a rate that is not zero."""
    usual = max((applied(trace, s) or 0.0 for s in steps if s.changed), default=0.0)
    if any(s.changed and s.closure for s in steps):  # Its gradient is the last evaluation's, after the step.
        usual = max((largest(trace).get(n, 0.0) for n in optimizer.parameters), default=usual)
    least = max(NEXT_TO_NOTHING, AT_REST * usual)

    def told(step: Step) -> bool:
        size = applied(trace, step)
        return bool(step.changed) or _at_zero(optimizer, [step]) or size is None or size > least

    return [s for s in steps if told(s)]


def _rates(optimizer: Optimizer, step: Step) -> tuple[float, ...]:
    """What the step moved by; where nobody asked then, what the optimizer had when it was last looked at."""
    return step.rates or optimizer.rates


def _at_zero(optimizer: Optimizer, steps: list[Step]) -> bool:
    """The script had set the rates to zero: a phase, if it is over."""
    rates = [_rates(optimizer, step) for step in steps]
    return all(rates) and not any(any(found) for found in rates)


def _scheduled_away(optimizer: Optimizer) -> bool:
    """Whether a schedule has left it without a learning rate for a good part of the run."""
    since = optimizer.stopped
    return since is not None and optimizer.steps - since >= max(LONG, PART * optimizer.steps)


def _ended(trace: Trace, optimizer: Optimizer, since: int) -> Finding:
    who = wording.whom(trace, optimizer.parameters)
    step = next((s for s in reversed(trace.steps) if s.optimizer == optimizer.id), None)
    labels = [Label(optimizer.site, f"{optimizer.name} is built here")] if optimizer.site is not None else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, optimizer.parameters, 'stops', 'stop')} learning at step {since} of "
        f"{optimizer.steps}: the schedule has brought the learning rate to zero",
        step.site if step is not None else None,
        f"changes no value from step {since} on",
        labels,
        "the schedule is over and the run goes on: at a rate of zero a step changes nothing.",
        f"learning rate 0 at every look from step {since} on",
        "give the scheduler the number of times that it is stepped, or step it less often",
        parameters=trace.names(optimizer.parameters),
        evidence={"since": since, "steps": optimizer.steps},
    )


def _finding(trace: Trace, optimizer: Optimizer, steps: list[Step], when: Spell) -> Finding:
    who = wording.whom(trace, optimizer.parameters)
    step = steps[-1]
    zero = _at_zero(optimizer, steps)
    rates = list(dict.fromkeys(rate for s in steps for rate in _rates(optimizer, s)))
    labels = [Label(optimizer.site, f"{optimizer.name} is built here")] if optimizer.site is not None else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, optimizer.parameters, 'is', 'are')} not learning; {optimizer.name}.step() changes "
        f"no value{': its learning rate is 0' if zero else ''}",
        step.site,
        "applies a non-zero gradient and leaves every value bit-identical",
        labels,
        "the learning rate is zero." if zero else "the update is lost: it is zero or below the weights' precision.",
        f"{len(steps)} of {len(steps)} compared steps; learning rate "
        + (", ".join(f"{rate:g}" for rate in rates[:3]) or "unknown")
        + wording.also_dated(when),
        "set a learning rate above zero (look at schedulers that end or start at 0)"
        if zero
        else "raise the learning rate, or keep the weights in float32",
        parameters=trace.names(optimizer.parameters),
        evidence={"steps": len(steps), "learning_rates": rates} | when.evidence,
    )
