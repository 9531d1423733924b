"""The probability ratio is not one although the policy has not moved since the rollout.

Before the first step on a new batch, the old and the new log-probabilities come from the same weights, so
`exp(new - old)` must be exactly one. If it is not, the two sides are computed differently: other inputs
(masks, positions, normalisation, hidden states), another temperature, dropout, a different action; or the copy
that acted was made without some of the weights.

Feed both sides the same inputs, in the same mode, and compare them once before training.

```python bad
import torch

torch.manual_seed(0)
policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(3):
    obs, advantage = torch.randn(8, 4), torch.randn(8)
    with torch.no_grad():
        old_log_prob = torch.log_softmax(policy(obs) / 0.7, -1)[:, 0]
    log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
    ratio = torch.exp(log_prob - old_log_prob)  # WG310
    loss = -(ratio * advantage).mean()
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
    for _ in range(2):
        log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
        ratio = torch.exp(log_prob - old_log_prob)
        loss = -(ratio * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
```
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from whygrad import leaking, wording
from whygrad.finding import Finding, Label
from whygrad.trace import Trace
from whygrad.trace.modes import mismatch, modes
from whygrad.trace.ratios import Ratio, by_place, made_of, ratios, same_weights, selected, uncopied, unmasked
from whygrad.trace.spells import Spell, spell

CODE = "WG310"
NAME = "ratio-not-one"
EXACT = {"float64": 1e-4, "float32": 1e-3}
PADDING = 0.5
"""Where a mask picks from the ratio, this much of it must be off: the rest may be padding."""
FAR = 0.01
"""From 1, where the first batches were right: a hidden state that is not carried over shows from the second on."""
ONCE, OFTEN = 1, 3
"""Batches in a row that are off, where others are right: up to the latest one, or only for a while."""
COARSE = 5e-2
"""Half precision: two forwards of different shape differ by about this much."""


def check(trace: Trace) -> Iterator[Finding]:
    for evaluations in by_place(ratios(trace)):
        first = [r for r in evaluations if r.op.spread is not None and same_weights(trace, r)]
        first = [r for r in first if not made_of(trace.graph, r.old, r.new, gradient=False)]  # a mixture, on purpose
        off = [r for r in first if r.op.spread is not None and r.op.spread > EXACT.get(r.op.dtype, COARSE)]
        off = [r for r in off if math.isfinite(r.op.spread or 0.0)]
        off = [r for r in off if r.op.off > PADDING or not selected(trace.graph, r)]
        off = [r for r in off if r.op.off > 1 - (unmasked(trace.graph, r) or 1.0)]  # The rest is masked out.
        if len(off) < len(first):
            off = [r for r in off if (r.op.spread or 0.0) > FAR]
        numbers = {r.op.id for r in off}
        when = spell([(r.backward.update + 1, r.op.id in numbers) for r in first], ONCE, against=len(first) + 1)
        if when is not None and (not when.over or when.times >= OFTEN):
            part = [r for r in off if when.first <= r.backward.update + 1 <= when.last]
            if not mismatch(trace.graph, part[-1].new, part[-1].old):
                yield _finding(trace, part, len(first), when)


def _finding(trace: Trace, off: list[Ratio], seen: int, when: Spell) -> Finding:
    ratio = off[-1]
    who = wording.whom(trace, trace.graph.reach(ratio.new))
    moved = wording.verb(trace, trace.graph.reach(ratio.new), "has", "have")
    worst = max(r.op.spread or 0.0 for r in off)
    source = "the copy" if uncopied(trace, ratio) else "the same weights"
    old, new = (leaking.outside(trace, trace.graph[n]) for n in (ratio.old, ratio.new))
    labels = [
        Label(site, text)
        for site, text in ((old, f"the old side, from {source}"), (new, "the new side"))
        if site is not None and ratio.op.site is not None and site.line != ratio.op.site.line
    ]
    return Finding(
        CODE,
        NAME,
        "error",
        f"the ratio starts {worst:.3g} away from 1 although {who} {moved} not moved since the rollout",
        ratio.op.site,
        "must be exactly 1 here, before the first step on this batch",
        labels,
        _why(trace, ratio),
        f"largest |ratio - 1| before the first step on a batch, {len(off)} of {seen} times: {worst:.3g}"
        + wording.also_dated(when),
        "copy every parameter to where it belongs when the weights are handed over"
        if uncopied(trace, ratio)
        else "compute both sides by the same code with the same inputs (masks, positions, states, temperature, mode)",
        parameters=trace.names(trace.graph.reach(ratio.new)),
        evidence={"distance": worst, "batches": len(off)} | when.evidence,
    )


def _why(trace: Trace, ratio: Ratio) -> str:
    forgotten = uncopied(trace, ratio)
    if forgotten:
        lacks = wording.whom(trace, forgotten)
        return f"what acted was copied from these weights, but without {lacks}: it is another policy."
    if modes(trace.graph, ratio.new).get("dropout") is True:
        return "dropout draws another mask for each side."
    return "both sides come from the same weights, so their inputs or the way they are computed differ."
