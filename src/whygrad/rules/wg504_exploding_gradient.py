"""The gradient grows without bound.

Each update makes the next one larger: a learning rate that is too high, targets that follow the values they train,
rewards in the thousands, recurrence over long sequences. Clipping hides it; the run still goes nowhere. A policy that
recovers its sample from a squashed action, by the inverse of tanh, scores another sample wherever a clamp had to keep
the action off its bounds: once the gradient has grown by that, the inverse is named.

Lower the learning rate, scale rewards and targets, slow the target network down, clip.

A gradient that has grown much less and is still growing at the end is a note: it may settle, as it does while values
grow with what an agent earns.

```python bad
import torch

critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=2.0)
for _ in range(64):
    obs, target = torch.randn(8, 4), torch.randn(8)
    loss = (critic(obs).squeeze(-1) - target).pow(2).mean()  # WG504
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.02)
for _ in range(64):
    obs, target = torch.randn(8, 4), torch.randn(8)
    loss = (critic(obs).squeeze(-1) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Trace
from whygrad.trace.magnitudes import Exploding, Growth, exploding, grown, rising
from whygrad.trace.unsquashing import Unsquashed, unsquashed

CODE = "WG504"
NAME = "exploding-gradient"
GROWTH = 1e3
"""Largest gradient now over that of the first updates. Values that grow while an agent learns make it ten or a
hundred times larger, and then it settles."""
STILL = 5.0
"""Growth from each of the latest traced updates to the next: it has not settled."""
LARGE = 1e3
"""Size of the largest gradient from which growth matters: one that began near zero may grow a lot."""
FIRST = 3
"""Traced updates whose median is the start."""
NOTED = 30.0
"""Growth that is worth a note while it goes on."""
CLIMBING = 1.2
"""Growth from each of the latest traced updates to the next, for a note."""
VISIBLE = 1.0
"""Size of the largest gradient from which a note is worth its line."""


def check(trace: Trace) -> Iterator[Finding]:
    growth = Growth(GROWTH, STILL, LARGE, int(FIRST))
    endless = exploding(trace, growth)
    said = set()
    for found in grown(trace, growth):
        cause = unsquashed(trace.graph, found.backwards[-1])
        if cause is not None and cause.inverse.site is not None:
            said.add(found.backwards[0].id)
            yield _recovered(trace, found, cause)
    for found in endless:
        if found.backwards[0].id not in said:
            said.add(found.backwards[0].id)
            yield _finding(trace, found)
    for found in rising(trace, Growth(NOTED, CLIMBING, VISIBLE, int(FIRST))):
        if found.after is None and found.backwards[0].id not in said:
            yield _climbing(trace, found)


def _recovered(trace: Trace, found: Exploding, cause: Unsquashed) -> Finding:
    last = found.backwards[-1]
    reach = trace.graph.reach(cause.inverse.id)
    who, share = wording.whom(trace, reach), f"{cause.share:.0%}"
    labels = [Label(cause.clamp.site, f"changes {share} of the batch")] if cause.clamp.site is not None else []
    if last.site is not None:
        sizes = f"{found.start:.1e} in the first updates, {found.sizes[-1]:.1e} now"
        labels.append(Label(last.site, f"largest gradient {sizes}"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, reach, 'is', 'are')} thrown about: the gradient of {last.name} has grown "
        f"{found.sizes[-1] / found.start:.0e} times, and {share} of the samples that it scores are not those drawn",
        cause.inverse.site,
        "does not give back what was squashed where the action lies at its bounds",
        labels,
        "the clamp moves saturated actions, so the recovered sample lies far from the one that was drawn; its "
        "log-probability is enormous and pushes the mean further out.",
        f"{share} of the batch lies beyond the clamp at update {last.update + 1}",
        "keep the sample from before the tanh and score that one",
        parameters=trace.names(reach),
        evidence={"first": found.start, "last": found.sizes[-1], "clamped": cause.share},
    )


def _climbing(trace: Trace, found: Exploding) -> Finding:
    last, times = found.backwards[-1], found.sizes[-1] / found.start
    return Finding(
        CODE,
        NAME,
        "note",
        f"the gradient of {last.name} is still growing: it is {times:.3g} times what it was in the first updates "
        f"(largest gradient at update {_latest(found)})",
        last.made or last.site,
        f"largest gradient {found.start:.1e} in the first updates, {found.sizes[-1]:.1e} now",
        fix="watch whether it settles; scaled returns or a lower learning rate keep it down",
        parameters=trace.names(last.deposits),
        evidence={"first": found.start, "last": found.sizes[-1], "update": last.update + 1},
    )


def _afterwards(found: Exploding) -> str:
    if found.after is None:
        return ""
    return "; then NaN" if found.diverged else f"; at update {found.after.update + 1} it grew no more"


def _latest(found: Exploding) -> str:
    sizes = list(zip(found.sizes, found.backwards, strict=True))[-3:]
    return ", ".join(f"{backward.update + 1}: {size:.1e}" for size, backward in sizes)


def _finding(trace: Trace, found: Exploding) -> Finding:
    group, sizes, start = found.backwards, found.sizes, found.start
    last = group[-1]
    who = wording.whom(trace, last.deposits)
    are = wording.verb(trace, last.deposits, "is", "are")
    were = wording.verb(trace, last.deposits, "was", "were")
    return Finding(
        CODE,
        NAME,
        "note" if found.settled else "error",
        f"{who} {were if found.settled else are} thrown about: by update {last.update + 1} the gradient of {last.name} "
        f"had grown {sizes[-1] / start:.0e} times since the start",
        last.made or last.site,
        f"largest gradient {start:.1e} in the first updates, {sizes[-1]:.1e} at update {last.update + 1}",
        [],
        "each update made the next gradient larger, up to there."
        if found.settled
        else "each update makes the next gradient larger; the run diverges, whether or not a clip hides it.",
        f"largest gradient at update {_latest(found)}{_afterwards(found)}",
        "lower the learning rate, scale rewards and targets, or let the target network follow more slowly",
        parameters=trace.names(last.deposits),
        evidence={"first": start, "last": sizes[-1], "update": last.update + 1},
    )
