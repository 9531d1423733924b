"""A rectified layer is zero for every input.

A unit that is below zero for all inputs outputs zero and gets a gradient of exactly zero: it cannot come back. When
a whole layer is dead, nothing below it learns either. Usual causes: a learning rate or reward scale that threw the
biases far below zero, unscaled inputs, a bad initialisation.

Lower the learning rate, scale inputs and rewards, clip the gradient, or use an activation that leaks (LeakyReLU, ELU).

```python bad
import torch

q_net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
torch.nn.init.constant_(q_net[0].bias, -50.0)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(30):
    obs, target = torch.randn(8, 4), torch.randn(8)
    value = q_net(obs).squeeze(-1)  # WG501
    loss = (value - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

q_net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(30):
    obs, target = torch.randn(8, 4), torch.randn(8)
    value = q_net(obs).squeeze(-1)
    loss = (value - target).pow(2).mean()
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
from whygrad.trace.evaluations import Evaluation, evaluations, spread
from whygrad.trace.spells import spell

CODE = "WG501"
NAME = "dead-units"
NEARLY_ALL = 0.95
"""Of the units of a layer. Half a layer of dead units is common in networks that learn."""
OFTEN = 2
"""Latest traced evaluations in which the same units must be zero."""
LASTING = 10
"""Updates between the first and the last evaluation with the same dead units."""


def check(trace: Trace) -> Iterator[Finding]:
    said: set[object] = set()
    for group in evaluations(trace, _rectifies):
        looks = [(e.backward.update + 1, _dead(group[: end + 1])) for end, e in enumerate(group)]
        when = spell(looks, 1, against=len(group))
        site = group[-1].op.site
        if when is not None and site not in said:
            said.add(site)
            end = max(end for end, (update, dead) in enumerate(looks) if dead and update == when.last) + 1
            found = _finding(trace, group[end - 1], group[end - OFTEN : end])
            yield wording.past(found, when) if when.over else found


def _dead(group: list[Evaluation]) -> bool:
    """Whether nearly all units were zero at the latest of these evaluations, and at one some updates before it."""
    latest, units = group[-OFTEN:], _units(group[-1])
    apart = min(LASTING, (latest[-1].backward.update + 1) // 4)
    return len(latest) == OFTEN and spread(latest) >= apart and units > 0 and _always(latest) >= NEARLY_ALL * units


def _units(evaluation: Evaluation) -> int:
    return evaluation.op.facts.units if evaluation.op.facts is not None else 0


def _rectifies(op: Op) -> bool:
    return op.facts is not None and op.facts.dead is not None and len(op.shape) > 1 and op.shape[0] > 1


def _always(group: list[Evaluation]) -> int:
    """How many units were zero for every input of all these evaluations."""
    common = -1
    for evaluation in group:
        assert evaluation.op.facts is not None
        common &= evaluation.op.facts.dead or 0
    return common.bit_count() if common >= 0 else 0


def _finding(trace: Trace, last: Evaluation, latest: list[Evaluation]) -> Finding:
    dead, units, times = _always(latest), _units(last), len(latest)
    below = trace.graph.reach(last.op.id)
    who = wording.whom(trace, below)
    labels = (
        [Label(last.backward.site, "its gradient ends at the dead units")] if last.backward.site is not None else []
    )
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, below, 'gets', 'get')} no gradient: {dead} of the {units} units above "
        f"{wording.verb(trace, below, 'it', 'them')} are zero for every input",
        last.op.site,
        f"{dead} of {units} units are dead",
        labels,
        "a rectified unit that is below zero for all inputs has a gradient of exactly zero, so nothing brings it back.",
        f"zero for the whole batch in the latest {times} traced evaluations, up to update {last.backward.update + 1}",
        "lower the learning rate, scale inputs and rewards, clip the gradient, or use LeakyReLU or ELU",
        parameters=trace.names(below),
        evidence={"dead": dead, "units": units, "evaluations": times},
    )
