"""The value function explains nothing of the returns.

Explained variance compares the error of the value function with the spread of the returns: 1 is perfect, 0 is no better
than predicting the mean. A critic that stays there gives the policy no baseline. Often predictions and targets are
lined up wrongly (one is transposed, shuffled or shifted by a step), or the critic does not see what decides the return.

Where the policy earns more than it did at first, nothing is said: what is left of the returns' variance may be noise.
Check that prediction and target belong to the same state, the target's scale, and the critic's learning rate.

```python bad
import torch

critic = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=0.003)
for _ in range(700):
    obs, rewards = torch.randn(64, 2), [torch.randn(64) for _ in range(4)]
    returns = obs.sum(1).flip(0) + 0.1 * rewards[0]
    for reward in rewards[1:]:
        returns = 0.1 * reward + returns
    loss = (critic(obs).squeeze(-1) - returns).pow(2).mean()  # WG803
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

critic = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=0.003)
for _ in range(700):
    obs, rewards = torch.randn(64, 2), [torch.randn(64) for _ in range(4)]
    returns = obs.sum(1) + 0.1 * rewards[0]
    for reward in rewards[1:]:
        returns = 0.1 * reward + returns
    loss = (critic(obs).squeeze(-1) - returns).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from whygrad import wording
from whygrad.finding import Finding
from whygrad.trace import Op, Trace
from whygrad.trace.anatomy import behind_shaping
from whygrad.trace.earnings import earnings, improved
from whygrad.trace.errors import errors
from whygrad.trace.evaluations import Evaluation, evaluations

CODE = "WG803"
NAME = "value-explains-nothing"
NOTHING = 0.02
"""Explained variance, in the middle of the late evaluations; one of them may be better by chance."""
CHANCE = 0.15
"""The best late evaluation may be this good by chance."""
LONG = 600
"""Updates before a critic may be called slow to learn: where rewards are mostly noise, it takes that long to show."""
LATE = 40
"""Updates after which an evaluation counts: before that every critic is untrained."""
OFTEN = 4
"""Late evaluations that are needed."""
BETTER = 0.5
"""Of the deviation of what was earned at first: who earns so much more has learned something, and the critic helped."""
SETTLED = 2.0
"""Mean squared error over the target's variance: the critic has found the mean and nothing else."""
STEPS = 4
"""Addends of a target from which it is a return: what happens over several steps depends on the state."""


def check(trace: Trace) -> Iterator[Finding]:
    if trace.updates < LONG:
        return
    said: set[object] = set()
    for group in evaluations(trace, _compares):
        late = [e for e in group if e.backward.update >= LATE]
        last = group[-1]
        if len(late) < OFTEN or last.backward.update < LONG / 2 or last.op.site in said:
            continue
        parts = [_explained(e.op) for e in late]
        settled = all(e.op.facts is not None and (e.op.facts.missed or 0.0) <= SETTLED for e in late)
        nothing = settled and median(parts) <= NOTHING and max(parts) <= CHANCE and _value_error(trace, last)
        if nothing and not _learned(trace, group, late):
            said.add(last.op.site)
            yield _finding(trace, last, late)


def _learned(trace: Trace, group: list[Evaluation], late: list[Evaluation]) -> bool:
    """Where more is earned than before, what is left of the returns' variance may be nothing but noise."""
    before = earnings(trace.graph, [e.backward for e in group if e.backward.update < LATE])
    return bool(improved(before, earnings(trace.graph, [e.backward for e in late]), BETTER))


def _compares(op: Op) -> bool:
    return op.facts is not None and op.facts.explained is not None


def _explained(op: Op) -> float:
    return op.facts.explained if op.facts is not None and op.facts.explained is not None else 1.0


def _value_error(trace: Trace, last: Evaluation) -> bool:
    """One output per state, compared with returns of several steps: a single reward may be nothing but noise."""
    assert last.backward.root is not None
    for error in errors(trace.graph, last.backward.root):
        parts = {error.op.id, *(found.id for _, found in trace.graph.operands(error.op))}
        single = len(last.op.shape) < 2 or last.op.shape[-1] == 1
        made = behind_shaping(trace.graph, error.prediction[0].op) if len(error.prediction) == 1 else None
        head = made is not None and made.name == "linear" and made.shape[-1:] == (1,)
        if last.op.id in parts and single and head and len(error.target) >= STEPS:
            return True
    return False


def _finding(trace: Trace, last: Evaluation, late: list[Evaluation]) -> Finding:
    reach = trace.graph.reach(last.op.id)
    who = wording.whom(trace, reach)
    seen = ", ".join(f"{_explained(e.op):.2f} at {e.backward.update + 1}" for e in late[-4:])
    return Finding(
        CODE,
        NAME,
        "warning",
        f"{who} {wording.verb(trace, reach, 'explains', 'explain')} nothing of the target: explained variance stays at "
        "or below zero",
        last.op.site,
        "prediction against target",
        [],
        "the predictions are no closer to their targets than the targets' own mean would be, update after update.",
        f"explained variance by update: {seen}",
        "check that prediction and target belong to the same samples (a transpose, a shuffle, a shift), then the "
        "target's scale and the learning rate",
        parameters=trace.names(reach),
        evidence={"explained_variance": _explained(last.op), "updates": trace.updates},
    )
