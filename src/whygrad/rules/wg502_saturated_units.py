"""Tanh or sigmoid units sit at their ends, where the derivative is next to nothing.

Inputs in raw units (positions in metres, pixels up to 255), large initial weights or a large learning rate push the
argument of a squashing function far from zero. There its slope is zero for all practical purposes, and the layers
below stop learning although nothing looks broken. It counts when it is so from the start, or when the first steps threw
it there and the gradient of everything below has been exactly zero for at least half of the run.

Scale the inputs, initialise the last layer small, or bound the argument.

```python bad
import torch

actor = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Tanh())
optimizer = torch.optim.SGD(actor.parameters(), lr=0.01)
for _ in range(30):
    obs = 1000 * torch.randn(8, 4)
    action = actor(obs)  # WG502
    loss = (action - 0.3).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

actor = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Tanh())
optimizer = torch.optim.SGD(actor.parameters(), lr=0.01)
for _ in range(30):
    obs = torch.randn(8, 4)
    action = actor(obs)
    loss = (action - 0.3).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Backward, Op, Trace
from whygrad.trace.evaluations import Evaluation, evaluations, same_line
from whygrad.trace.operations import SQUASHERS
from whygrad.trace.paths import only_through

CODE = "WG502"
NAME = "saturated-units"
MOST = 0.8
"""Share of the outputs whose slope is below a thousandth. A policy that ends at its bounds because the best action
lies there gets there late; what is saturated in the first updates already was not put there by learning."""
EARLY = 5
"""Updates from the first evaluation that count as the start."""
OFTEN = 3
"""Latest traced evaluations that must be saturated as well."""
LONG = 20
"""Updates through which the gradient must have been exactly zero, where learning began and then stopped."""


def check(trace: Trace) -> Iterator[Finding]:
    said: set[object] = set()
    stopped: list[tuple[Evaluation, frozenset[int], int, int]] = []
    for group in evaluations(trace, _squashes):
        last = group[-1]
        if len(group) < OFTEN or last.op.site in said or not all(_killed(e.op) >= MOST for e in group[-OFTEN:]):
            continue
        gates = same_line(trace, last, lambda op: _killed(op) >= MOST)
        lost = only_through(trace.graph, last.backward.root or 0, *gates)
        early = [e for e in group if e.backward.update - group[0].backward.update < EARLY]
        if lost and all(_killed(e.op) >= MOST for e in early[-2:]):
            said.add(last.op.site)
            seen = f"in the first traced updates and in the latest of {len(group)}, up to update"
            yield _finding(trace, last, lost, len(group), f"{seen} {last.backward.update + 1}")
        elif lost and (since := _silent_since(trace, group, lost)) is not None:
            stopped.append((last, lost, len(group), since))
    for last, lost, times, since in stopped:
        above = any(lost < others for _, others, _, _ in stopped)
        if not above and last.op.site not in said:
            said.add(last.op.site)
            seen = f"every traced gradient of {wording.whom(trace, lost)} is exactly zero from update {since + 1} to"
            yield _finding(trace, last, lost, times, f"{seen} {last.backward.update + 1} of {trace.updates}")


def _silent_since(trace: Trace, group: list[Evaluation], lost: frozenset[int]) -> int | None:
    """The update from which on, for half of the run or longer, nothing at all came through to these parameters.

    A policy whose best actions lie at the bounds closes in on them, and keeps some gradient until late."""
    silent: list[Evaluation] = []
    for evaluation in reversed(group):
        if _killed(evaluation.op) < 1.0 or not _nothing_passes(evaluation.backward, lost):
            break
        silent.append(evaluation)
    if len(silent) < OFTEN or silent[0].backward.update - silent[-1].backward.update < LONG:
        return None
    since = silent[-1].backward.update
    return since if since <= trace.updates / 2 else None


def _nothing_passes(backward: Backward, lost: frozenset[int]) -> bool:
    """Exactly zero for all of them, though gradient came as far as the layers above."""
    mine = [backward.largest[n] for n in lost if n in backward.largest]
    return len(mine) == len(lost) and not any(mine) and any(backward.largest.values())


def _killed(op: Op) -> float:
    return op.facts.killed if op.facts is not None and op.facts.killed is not None else 0.0


def _squashes(op: Op) -> bool:
    return op.name in SQUASHERS and op.facts is not None and op.facts.killed is not None


def _finding(trace: Trace, last: Evaluation, lost: frozenset[int], times: int, seen: str) -> Finding:
    who = wording.whom(trace, lost)
    share = f"{_killed(last.op):.0%}"
    labels = [Label(last.backward.site, "asks for its gradient")] if last.backward.site is not None else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, lost, 'gets', 'get')} next to no gradient: {last.op.written} is saturated for "
        f"{share} of its outputs",
        last.op.site,
        f"{share} of the outputs sit at the ends, where the slope is below 0.001",
        labels,
        "the argument is so large that the output no longer reacts to it; the gradient vanishes on the way back.",
        seen,
        "scale the inputs to about one, initialise the layer before it small, or lower the learning rate",
        parameters=trace.names(lost),
        evidence={"saturated": _killed(last.op), "evaluations": times},
    )
