"""The policy stops exploring in its first updates.

A policy gradient weighted with large numbers (raw returns in the hundreds, no baseline, a high learning rate) drives
one action to probability one before anything was tried. From then on every sample is that action.

A policy that is decided because it has learned earns more than it did at first, and is left alone. Where the weights
were centred before they became tensors, what is earned does not show, and this is a note.

Normalise the advantages, subtract a baseline, lower the learning rate, or add an entropy bonus.

```python bad
import torch

torch.manual_seed(0)
policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters(), lr=3.0)
for _ in range(80):
    dist = torch.distributions.Categorical(logits=policy(torch.ones(16, 4)))
    action = dist.sample()
    reward = 100.0 - action.float()
    loss = -(dist.log_prob(action) * reward).mean()  # WG801
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

torch.manual_seed(0)
policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.003)
for _ in range(80):
    dist = torch.distributions.Categorical(logits=policy(torch.ones(16, 4)))
    action = dist.sample()
    reward = 100.0 - action.float()
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
from whygrad.trace.anatomy import formula
from whygrad.trace.earnings import Earnings, earnings, improved
from whygrad.trace.evaluations import Evaluation, evaluations
from whygrad.trace.likeness import score_like
from whygrad.trace.operations import PRODUCTS

CODE = "WG801"
NAME = "entropy-collapse"
OPEN = 0.3
"""Share of the largest entropy from which a policy counts as undecided at the start."""
GONE = 0.01
"""Share of the largest entropy below which one action has practically all the probability."""
EARLY = 0.25
"""Of the run: a policy that is decided later may have solved its task."""
OFTEN = 3
"""Traced evaluations from the fall on, none of which recovers."""
BETTER = 0.5
"""Of the deviation of what was earned at first: who earns so much more has found something out."""
LONG = 60
"""Updates a run must have for its beginning to be called early."""


def check(trace: Trace) -> Iterator[Finding]:
    if trace.updates < LONG:
        return
    said: set[object] = set()
    for group in evaluations(trace, _decides):
        fallen = next((i for i, e in enumerate(group) if _undecided(e.op) <= GONE), None)
        last = group[-1]
        if fallen is None or _undecided(group[0].op) < OPEN or last.op.site in said:
            continue
        after = group[fallen:]
        early = after[0].backward.update <= EARLY * trace.updates
        score = _weighed(trace, last)
        if early and len(after) >= OFTEN and all(_undecided(e.op) <= GONE for e in after) and score is not None:
            said.add(last.op.site)
            better = improved(_earned(trace, group[:fallen]), _earned(trace, after), BETTER)
            if not better:
                yield _finding(trace, group[0], after, score, known=better is not None)


def _decides(op: Op) -> bool:
    return op.facts is not None and op.facts.undecided is not None


def _undecided(op: Op) -> float:
    return max(0.0, op.facts.undecided) if op.facts is not None and op.facts.undecided is not None else 1.0


def _weighed(trace: Trace, last: Evaluation) -> Op | None:
    """Where the loss weighs log-probabilities with numbers: a policy gradient, not imitation."""
    assert last.backward.root is not None
    for op in formula(trace.graph, last.backward.root):
        carrying = [i for i in op.inputs if op.passes(i)]
        if (
            op.name in PRODUCTS
            and len(op.inputs) == 2
            and len(carrying) == 1
            and score_like(trace.graph, carrying[0].op)
        ):
            return op
    return None


def _earned(trace: Trace, group: list[Evaluation]) -> Earnings:
    return earnings(trace.graph, [e.backward for e in group])


def _finding(trace: Trace, first: Evaluation, after: list[Evaluation], score: Op, *, known: bool) -> Finding:
    last = after[-1]
    reach = trace.graph.reach(last.op.id)
    who = wording.whom(trace, reach)
    return Finding(
        CODE,
        NAME,
        "warning" if known else "note",
        f"{who} {wording.verb(trace, reach, 'has', 'have')} stopped exploring: the entropy fell to "
        f"{_undecided(last.op):.1%} of its maximum by update {after[0].backward.update + 1}",
        score.site,
        "weighs the actions' log-probabilities",
        [Label(last.op.site, "the distribution over the actions")] if last.op.site is not None else [],
        "one action has nearly all the probability, so nothing else is sampled and nothing else can be learned.",
        f"{_undecided(first.op):.0%} of the largest possible entropy at update {first.backward.update + 1}, "
        f"{_undecided(last.op):.1%} at update {last.backward.update + 1} of {trace.updates}"
        + ("; what is earned is not more than at first" if known else "; whether more is earned since does not show"),
        "normalise the advantages, subtract a baseline, lower the learning rate, or add an entropy bonus",
        parameters=trace.names(reach),
        evidence={"entropy": _undecided(last.op), "update": after[0].backward.update + 1},
    )
