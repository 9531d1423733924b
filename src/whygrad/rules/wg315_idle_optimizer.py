"""An optimizer was built, its parameters receive gradient, and it is never stepped, or at some time no more.

The update of one network was forgotten: its gradients pile up while the others train. Or another optimizer steps the
same parameters, and the learning rate or the schedule that was meant for them stays with the one that nobody steps.

One that is built anew for every update makes one step and is forgotten: averages and momentum never begin.

Call its `step()` (and `zero_grad()`) as well, or hand it to the code that steps. Build it once, before the loop.

```python bad
import torch

policy, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
policy_optimizer = torch.optim.Adam(policy.parameters())
critic_optimizer = torch.optim.Adam(critic.parameters())  # WG315
for _ in range(8):
    obs = torch.randn(8, 4)
    policy_loss = -torch.log_softmax(policy(obs), -1)[:, 0].mean()
    value_loss = (critic(obs) - 1.0).pow(2).mean()
    policy_optimizer.zero_grad()
    critic_optimizer.zero_grad()
    (policy_loss + value_loss).backward()
    policy_optimizer.step()
```

```python good
import torch

policy, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
policy_optimizer = torch.optim.Adam(policy.parameters())
critic_optimizer = torch.optim.Adam(critic.parameters())
for _ in range(8):
    obs = torch.randn(8, 4)
    policy_loss = -torch.log_softmax(policy(obs), -1)[:, 0].mean()
    value_loss = (critic(obs) - 1.0).pow(2).mean()
    policy_optimizer.zero_grad()
    critic_optimizer.zero_grad()
    (policy_loss + value_loss).backward()
    policy_optimizer.step()
    critic_optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.source.unreachable import never_called
from whygrad.trace import Backward, Optimizer, Trace
from whygrad.trace.abandoning import Abandoned, abandoned
from whygrad.trace.consumption import by_hand
from whygrad.trace.shortlived import short_lived

CODE = "WG315"
NAME = "idle-optimizer"
OFTEN = 3
"""Backwards that must have reached its parameters."""


def check(trace: Trace) -> Iterator[Finding]:
    if any(scaler.stuck for scaler in trace.scalers):
        return  # The step is called, and the scaler leaves it out.
    stepped = {n for o in trace.optimizers if o.steps for n in o.parameters} | by_hand(trace)
    for optimizer in trace.optimizers:
        mine = {n for n in optimizer.parameters if n not in stepped}
        if optimizer.steps or not mine or 0 < trace.updates < OFTEN:
            continue
        own = {n for n in mine if not trace.parameter(n).loaded}
        backwards = [b for b in trace.backwards if b.deposits & own]
        if len(backwards) >= OFTEN:
            yield _finding(trace, optimizer, backwards, own)
    yield from _displaced(trace)
    yield from (_over(trace, case) for case in abandoned(trace))
    yield from (_built_anew(trace, group) for group in short_lived(trace))


def _displaced(trace: Trace) -> Iterator[Finding]:
    """Optimizers that are kept while others step all that they hold, as if they were not there.

    One that is built anew before training has left nothing behind, and one that waits for a later phase can be
    stepped by some line; a rate that nobody could apply and a schedule that moves nothing cannot be meant.
    """
    last = max((step.order for step in trace.steps), default=0)
    for optimizer in trace.optimizers:
        others = [o for o in trace.optimizers if o.steps and set(o.parameters) & set(optimizer.parameters)]
        covered = {n for o in others for n in o.parameters if trace.parameter(n).consumed}
        kept = optimizer.there >= last > 0 and not optimizer.steps
        if not kept or not optimizer.parameters or not covered.issuperset(optimizer.parameters):
            continue
        rates = {rate for other in others for rate in other.rates}
        if optimizer.scheduled and not any(other.scheduled for other in others):
            yield _stands_in(trace, optimizer, others[0], "schedule")
        elif (
            optimizer.site is not None
            and rates.isdisjoint(optimizer.rates)
            and never_called(optimizer.site, "step", trace.files)
        ):
            yield _stands_in(trace, optimizer, others[0], "rate")


def _stands_in(trace: Trace, optimizer: Optimizer, other: Optimizer, what: str) -> Finding:
    who = wording.whom(trace, frozenset(optimizer.parameters))
    mine, theirs = (", ".join(f"{rate:g}" for rate in dict.fromkeys(o.rates)) for o in (optimizer, other))
    labels = [Label(other.site, f"{other.name} steps the same parameters")] if other.site is not None else []
    if what == "schedule":
        message = f"the learning-rate schedule of {optimizer.name} never reaches {who}: the optimizer is never stepped"
        why = "a schedule changes the rates of the optimizer that it was built with, and that one never steps."
        seen = f"its rate changed (now {mine}); {other.name}, which steps, stayed at {theirs}"
        fix = "give the schedule the optimizer that steps"
    else:
        message = f"{who} {wording.verb(trace, optimizer.parameters, 'is', 'are')} not trained at the rate {mine} of "
        message += f"{optimizer.name}, which is never stepped: {other.name} steps at {theirs}"
        why = "no line of the script could step it; all its parameters are stepped by another optimizer."
        seen = f"0 steps, while {other.name} made {other.steps}"
        fix = f"step {optimizer.name} instead of {other.name}, or delete it and set the rate where it applies"
    return Finding(
        CODE,
        NAME,
        "error" if what == "schedule" else "warning",
        message,
        optimizer.site,
        f"never stepped; another optimizer trains its {wording.plural(len(optimizer.parameters), 'parameter')}",
        labels,
        why,
        seen,
        fix,
        parameters=trace.names(optimizer.parameters),
        evidence={"updates": trace.updates, "rates": list(optimizer.rates), "applied": list(other.rates)},
    )


def _finding(trace: Trace, optimizer: Optimizer, backwards: list[Backward], own: set[int]) -> Finding:
    who = wording.whom(trace, own)
    last = backwards[-1]
    labels = [Label(last.site, f"deposits gradient on {who}")] if last.site is not None else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, own, 'is', 'are')} not learning; {optimizer.name} is never stepped",
        optimizer.site,
        f"holds {wording.plural(len(own), 'parameter')} that get gradient and are never updated",
        labels,
        "backward only deposits gradients; the values move when the optimizer steps, and this one never does.",
        (
            f"0 steps in {wording.plural(trace.updates, 'update')} of the others; "
            if trace.updates
            else "no step at all; "
        )
        + f"{wording.plural(len(backwards), 'traced backward')} reached it",
        f"call {optimizer.name}.step() after {last.name}.backward()",
        parameters=trace.names(own),
        evidence={"updates": trace.updates, "backwards": len(backwards)},
    )


def _over(trace: Trace, case: Abandoned) -> Finding:
    optimizer, last = case.optimizer, case.backwards[-1]
    who = wording.whom(trace, case.parameters)
    labels = [Label(last.site, f"still deposits gradient on {who}")] if last.site is not None else []
    when = f"update {case.since}" if case.exact else f"about update {case.since}"
    others = trace.updates - case.since
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, case.parameters, 'is', 'are')} not learning any more: step {optimizer.steps} of "
        f"{optimizer.name} was its last, at {when} of {trace.updates}",
        case.step.site,
        f"does not come any more after step {optimizer.steps}",
        labels,
        "the loss is computed and differentiated as before, and nobody applies its gradient: it is cleared the next "
        "time.",
        f"{wording.plural(len(case.backwards), 'traced backward')} of it after that; the others went on for "
        + wording.plural(others, "update"),
        f"look at the condition around {optimizer.name}.step(): it does not become true again",
        parameters=trace.names(case.parameters),
        evidence={"steps": optimizer.steps, "last_update": case.since, "backwards": len(case.backwards)},
    )


def _built_anew(trace: Trace, group: list[Optimizer]) -> Finding:
    one, count = group[-1], len(group)
    who = wording.whom(trace, frozenset(one.parameters))
    steps = wording.plural(max(o.steps for o in group), "step")
    kept = "averages of earlier gradients" if one.adaptive else "momentum"
    return Finding(
        CODE,
        NAME,
        "warning",
        f"{who} {wording.verb(trace, one.parameters, 'is', 'are')} trained without the {kept}: {one.name} is built "
        f"{count} times, and no one of them makes more than {steps}",
        one.site,
        "built anew, with nothing remembered",
        [],
        "the first step of an adaptive optimizer moves every weight by the learning rate, whatever the size of its "
        "gradient."
        if one.adaptive
        else "momentum begins at zero in every new optimizer.",
        f"{count} optimizers of the same parameters from this line, {steps} each at most, none by others",
        f"build {one.name} once, before the loop",
        parameters=trace.names(one.parameters),
        evidence={"built": count, "steps": max(o.steps for o in group)},
    )
