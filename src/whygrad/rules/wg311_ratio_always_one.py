"""The probability ratio never leaves one, although the same batch is used for several steps.

The old log-probabilities are recomputed with the current weights for every minibatch (or are the current
ones, detached), so the ratio compares the policy with itself. Clipping never acts and every epoch is a plain
policy gradient on stale data. With one update per batch that is fine, and silent here.

Compute the old log-probabilities once, when the batch is collected, and store them.

```python bad
import torch

policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(3):
    obs, advantage = torch.randn(8, 4), torch.randn(8)
    for _ in range(3):
        log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
        old_log_prob = log_prob.detach()  # WG311
        ratio = torch.exp(log_prob - old_log_prob)
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(3):
    obs, advantage = torch.randn(8, 4), torch.randn(8)
    with torch.no_grad():
        old_log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
    for _ in range(3):
        log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
        ratio = torch.exp(log_prob - old_log_prob)
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.source.defining import definition
from whygrad.trace import Site, Trace
from whygrad.trace.magnitudes import size
from whygrad.trace.ratios import Ratio, batch, by_place, ratios, stepped_between
from whygrad.trace.spells import Spell, throughout

CODE = "WG311"
NAME = "ratio-always-one"
ROUNDING = 1e-5
LASTING = 6
"""Evaluations in a row that are one, where others are not: at a tiny learning rate the first few may be."""

AT_REST = 1e-2
"""Of the largest gradient: a policy that has made up its mind hardly moves any more, and its ratio neither."""


def check(trace: Trace) -> Iterator[Finding]:
    for evaluations in by_place(ratios(trace)):
        known = [r for r in evaluations if r.op.spread is not None and not r.attached]
        looks = [(r.backward.update + 1, (r.op.spread or 0.0) <= ROUNDING) for r in known]  # NaN is no ratio of one.
        when = throughout(looks, 1, int(LASTING))
        if when is None:
            continue
        throughout_run = when.times == len(known)
        largest = max((size(r.backward) for r in known), default=0.0)
        known = [r for r in known if when.first <= r.backward.update + 1 <= when.last]
        if not throughout_run and all(size(r.backward) <= AT_REST * largest for r in known):
            continue
        again = [
            later
            for earlier, later in pairwise(known)
            if stepped_between(trace, earlier, later)
            # Looks that are taken now and then may all fall on the first update of a batch.
            and trace.window(earlier.backward.order) == trace.window(later.backward.order)
            and not earlier.backward.deposits <= earlier.backward.zeros
            and earlier.new != later.new
            and batch(trace.graph, earlier.new) == batch(trace.graph, later.new) != frozenset()
        ]
        if again:
            yield _finding(trace, known, again, when)
        elif throughout_run and len(known) > 2 and all(stepped_between(trace, *pair) for pair in pairwise(known)):
            yield _harmless(trace, known[-1])


def _finding(trace: Trace, known: list[Ratio], again: list[Ratio], when: Spell) -> Finding:
    ratio = again[-1]
    site = _old_site(trace, ratio)
    who = wording.whom(trace, trace.graph.reach(ratio.new))
    labels = [Label(ratio.op.site, "exactly 1 every time")] if ratio.op.site not in (None, site) else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"the ratio of {who} is 1 at every update of one batch: the old log-probability is always the current one",
        site,
        "computed anew for each minibatch, with the weights of the moment",
        [label for label in labels if label.site is not None],
        "after the first step on a batch the policy differs from the one that acted; a ratio that stays at 1 compares "
        "it with itself, so clipping never limits anything.",
        f"{len(known)} evaluations, {len(again)} of them after a step on the same batch, all within {ROUNDING:g} of 1"
        + wording.also_dated(when),
        "compute it once when the batch is collected, under torch.no_grad(), and store it with the batch",
        parameters=trace.names(trace.graph.reach(ratio.new)),
        evidence={"evaluations": len(known), "after_a_step": len(again)} | when.evidence,
    )


def _harmless(trace: Trace, ratio: Ratio) -> Finding:
    who = wording.whom(trace, trace.graph.reach(ratio.new))
    return Finding(
        CODE,
        NAME,
        "note",
        f"the ratio of {who} is exactly 1; harmless, because each batch is used for one update only",
        ratio.op.site,
    )


def _old_site(trace: Trace, ratio: Ratio) -> Site | None:
    """Where the old side is computed, seen from the function that forms the ratio."""
    made = trace.graph[ratio.old].site
    here = ratio.op.site
    if made is not None and here is not None and made.function != here.function:
        return definition(here, "old") or made
    return made
