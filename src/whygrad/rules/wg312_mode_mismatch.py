"""Dropout or batch normalisation behaves differently between rollout and update.

Either the old and the new log-probabilities of a ratio come from different modes, so that the ratio is noise;
or an `eval()` for an evaluation was never undone, and training goes on without dropout and with frozen
statistics.

Collect and update in the same mode, and call `train()` after every `eval()`.

```python bad
import torch

policy = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 2))
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for step in range(30):
    if step == 3:
        policy.eval()  # WG312
        with torch.no_grad():
            policy(torch.randn(1, 4))
    loss = torch.nn.functional.cross_entropy(policy(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 2))
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for step in range(30):
    if step == 3:
        policy.eval()
        with torch.no_grad():
            policy(torch.randn(1, 4))
        policy.train()
    loss = torch.nn.functional.cross_entropy(policy(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import leaking, wording
from whygrad.finding import Finding, Label
from whygrad.trace import Backward, Switch, Trace
from whygrad.trace.modes import mismatch, modes
from whygrad.trace.ratios import Ratio, by_place, ratios, same_weights

CODE = "WG312"
NAME = "mode-mismatch"


def check(trace: Trace) -> Iterator[Finding]:
    for evaluations in by_place(ratios(trace)):
        differing = [
            r
            for r in evaluations
            if same_weights(trace, r) and (r.op.spread or 0.0) > 1e-3 and mismatch(trace.graph, r.new, r.old)
        ]
        if differing:
            yield _between(trace, differing[-1])
    outlived = _outlived(trace)
    if outlived is not None:
        yield _never_undone(trace, *outlived)


def _outlived(trace: Trace) -> tuple[Switch, Backward] | None:
    """An `eval()` after which a loss that used to run in training mode runs in evaluation mode."""
    losses: dict[object, list[Backward]] = {}
    for backward in trace.rooted:
        losses.setdefault((backward.site, backward.made), []).append(backward)
    for backwards in losses.values():
        flags = [(b, modes(trace.graph, b.root)) for b in backwards if b.root is not None]
        training = [b for b, found in flags if found and any(found.values())]
        last, found = flags[-1]
        if not training or not found or any(found.values()) or training[-1].order > last.order:
            continue
        reach = trace.graph.reach(last.root) if last.root is not None else frozenset()
        switches = [s for s in trace.switches if s.order < last.order and s.parameters & reach]
        if switches and not switches[-1].training:
            return switches[-1], last
    return None


def _never_undone(trace: Trace, switch: Switch, after: Backward) -> Finding:
    who = wording.whom(trace, switch.parameters)
    labels = [Label(after.site, "trains in evaluation mode from then on")] if after.site is not None else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} trains in evaluation mode since update {switch.updates}: this eval() was never undone",
        switch.site,
        "switches dropout off and freezes batch statistics, also for the updates that follow",
        labels,
        "the mode is a property of the module, not of the block it was set in; it stays until train() is called.",
        f"training mode in the updates before, evaluation mode after update {switch.updates}",
        "call train() when the evaluation is over",
        parameters=trace.names(switch.parameters),
        evidence={"update": switch.updates},
    )


def _between(trace: Trace, ratio: Ratio) -> Finding:
    graph = trace.graph
    who = wording.whom(trace, graph.reach(ratio.new))
    reach = graph.reach(ratio.new)
    switch = next((s for s in reversed(trace.switches) if s.parameters & reach), None)
    forward = leaking.outside(trace, graph[ratio.old])
    new, old = (_mode(modes(graph, n)) for n in (ratio.new, ratio.old))
    labels = (
        [Label(ratio.op.site, f"{ratio.op.spread or 0.0:.3g} away from 1 before any step")] if ratio.op.site else []
    )
    if switch is not None and forward is not None:
        labels.append(Label(forward, f"the old log-probability, in {old} mode"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} acts in {old} mode and is updated in {new} mode: the ratio is off before the first step",
        switch.site if switch is not None else forward,
        f"sets {'training' if switch is not None and switch.training else 'evaluation'} mode"
        if switch is not None
        else f"runs in {old} mode",
        labels,
        "dropout and batch normalisation compute something else in the two modes, so the two sides of the ratio differ "
        "although the weights are the same.",
        f"largest |ratio - 1| with unchanged weights: {ratio.op.spread or 0.0:.3g}",
        "collect and update in the same mode",
        parameters=trace.names(reach),
        evidence={"distance": ratio.op.spread, "old": old, "new": new},
    )


def _mode(found: dict[str, bool]) -> str:
    return "training" if any(found.values()) else "evaluation"
