"""The loss has a graph, and everything it is weighted with is zero.

Advantages that are all the same number minus their mean, rewards that never differ within a group, a coefficient
that is zero: the gradient exists and is exactly zero everywhere, so the step changes nothing. A coefficient that is
zero in some updates only does not skip them: an optimizer with momentum steps on, by the gradients that it remembers.

Look at what the weight is made of: a reward that does not depend on the action, a group without variation, a
mask or coefficient that is always zero. To skip an update, do not step: give that network an optimizer of its own.

```python bad
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(6):
    obs, reward = torch.randn(8, 4), torch.ones(8)
    advantage = reward - reward.mean()
    dist = torch.distributions.Categorical(logits=policy(obs))
    loss = -(dist.log_prob(dist.sample()) * advantage).mean()  # WG506
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(6):
    obs = torch.randn(8, 4)
    dist = torch.distributions.Categorical(logits=policy(obs))
    action = dist.sample()
    reward = (action == 1).float()
    loss = -(dist.log_prob(action) * (reward - reward.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Op, Trace
from whygrad.trace.coefficients import SwitchedOff, switched_off
from whygrad.trace.evaluations import Evaluation, evaluations
from whygrad.trace.operations import PRODUCTS
from whygrad.trace.paths import only_through
from whygrad.trace.spells import Spell, throughout

CODE = "WG506"
NAME = "zero-signal"
OFTEN = 4
"""Traced updates in which the weight was zero, and none in which it was not."""
LASTING = 5
"""In a row from the start on, where it was not zero later: no reward had been found yet, say."""


def check(trace: Trace) -> Iterator[Finding]:
    said: set[object] = set()
    for group in evaluations(trace, _weighs):
        looks = [(e.backward.update + 1, e.op.facts is not None and e.op.facts.nothing is not None) for e in group]
        when = throughout(looks, int(OFTEN), int(LASTING))
        if when is None or when.before is not None:
            continue  # What earns all there is to be had has nothing left to tell.
        last = group[when.times - 1]
        lost = only_through(trace.graph, last.backward.root or 0, *_zeros(trace, last))
        starved = frozenset(n for n in lost if n in trace.holders and (when.over or not trace.parameter(n).moved))
        place = (last.op.site.file, last.op.site.line) if last.op.site is not None else None
        if starved and place not in said:
            said.add(place)
            found = _finding(trace, last, starved, when)
            yield wording.past(found, when) if when.over else found
    yield from (_carried_on(trace, case) for case in switched_off(trace))


def _zeros(trace: Trace, last: Evaluation) -> list[int]:
    """All products of that loss with a weight of zeros: a surrogate has two."""
    ops = (trace.graph[n] for n in trace.graph.carriers(last.backward.root or 0))
    return [op.id for op in ops if _weighs(op) and op.facts is not None and op.facts.nothing is not None]


def _weighs(op: Op) -> bool:
    return op.name in PRODUCTS and len(op.inputs) > 1


def _finding(trace: Trace, last: Evaluation, starved: frozenset[int], when: Spell) -> Finding:
    assert last.op.facts is not None
    assert last.op.facts.nothing is not None
    who = wording.whom(trace, starved)
    weight = trace.graph.ops.get(last.op.inputs[last.op.facts.nothing].op)
    labels = []
    if weight is not None and weight.site is not None and weight.site != last.op.site:
        labels.append(Label(weight.site, "zero in every element"))
    if last.backward.site is not None:
        labels.append(Label(last.backward.site, "leaves gradients that are exactly zero"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, starved, 'does', 'do')} not learn: the weight of {last.backward.name} is zero for "
        "every sample",
        last.op.site,
        "multiplies by zeros",
        labels,
        "zero times a log-probability (or an error) has a gradient of exactly zero, whatever the network does.",
        f"all zeros in {when.times} of {when.looks} traced updates"
        + (wording.also_dated(when) if when.over else f"; the weights of {who} have not moved"),
        "find out why it is zero: a reward that does not vary, a group with one outcome, a coefficient or mask of zero",
        parameters=trace.names(starved),
        evidence={"updates": when.times},
    )


def _carried_on(trace: Trace, case: SwitchedOff) -> Finding:
    who, backward = wording.whom(trace, case.parameters), case.latest.backward
    labels = [Label(backward.site, "leaves gradients that are exactly zero then")] if backward.site is not None else []
    return Finding(
        CODE,
        NAME,
        "warning",
        f"{who} {wording.verb(trace, case.parameters, 'moves', 'move')} in updates that were to leave "
        f"{wording.verb(trace, case.parameters, 'it', 'them')} alone: a coefficient of zero does not skip a step",
        case.latest.op.site,
        f"zero in {case.off} of {case.times} traced updates",
        labels,
        f"a gradient of zero is a gradient: {case.optimizer.name} steps every time and has momentum, so it repeats "
        "earlier updates while the loss is switched off.",
        f"the coefficient goes to zero and back; these steps find nothing but zeros for {who}",
        f"give {who} an optimizer of its own and step it only when it is to learn",
        parameters=trace.names(case.parameters),
        evidence={"off": case.off, "updates": case.times},
    )
