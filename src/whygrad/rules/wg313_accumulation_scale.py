"""Gradients of several micro-batches are summed into one step with the wrong scale.

Backwards add up. With a loss that is a mean over its micro-batch, the sum must be divided by the number of
micro-batches once: in the loss, in the gradient, or in the learning rate. Never divided, the update grows with
their number; divided twice (a total token count, and the number of micro-batches again), or by a count over more
rows than the micro-batches of one step hold, it shrinks.

Divide exactly once.

```python bad
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
accumulation_steps = 4
for step in range(16):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()  # WG313
    loss.backward()
    if (step + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

```python good
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
accumulation_steps = 4
for step in range(16):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    (loss / accumulation_steps).backward()
    if (step + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.source.accumulating import accumulates, divides, rescales
from whygrad.trace import Backward, Op, Site, Trace
from whygrad.trace.accumulation import Accumulation, accumulations
from whygrad.trace.pieces import Pieces

CODE = "WG313"
NAME = "accumulation-scale"
ONCE = 1.5
"""A divisor above this is meant to be a count."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """What is wrong with the scale of a step, in words."""

    kind: str
    effect: str
    here: str
    why: str
    fix: str
    count: int
    by: Op | None = None
    by_what: str = ""


def check(trace: Trace) -> Iterator[Finding]:
    for case in accumulations(trace):
        found = _wrong(trace.files, case)
        if found is not None:
            yield _finding(trace, case, found)


def _wrong(files: list[str], case: Accumulation) -> _Scale | None:
    squared = case.mean and case.count > 1 and math.isclose(case.divided_by, case.count**2, rel_tol=1e-3)
    if case.divided_by > ONCE and (case.shared_total or case.by_hand > ONCE or squared):
        return _twice(case)
    seen = case.pieces if case.pieces is not None and not rescales(files) else None
    if seen is not None and seen.beyond is not None:
        return _beyond(seen.pieces, seen.beyond)
    if seen is not None and seen.averaged:
        return _undivided(seen.pieces.count)
    meant = case.undivided and accumulates(files) and not divides(files, case.backward.site, case.divisions)
    return _undivided(case.count) if meant else None


def _twice(case: Accumulation) -> _Scale:
    return _Scale(
        "twice",
        f"1/{case.divided_by:g} of what the whole batch would give: it depends on the number of micro-batches",
        "divided a second time",
        "the micro-batches are normalised twice: in the loss, and by a total or in the gradient on top.",
        "divide by one of the two",
        case.count,
        case.total,
        "already divides by a total over all micro-batches",
    )


def _beyond(pieces: Pieces, by: Op) -> _Scale:
    held = pieces.rows * pieces.count
    return _Scale(
        "beyond",
        f"about 1/{pieces.steps} of the mean over the rows it is made from",
        f"divided by a count over {pieces.whole} rows, of which one step holds {held}",
        f"{pieces.steps} steps share out the batch whose count divides every one of them, so none adds up to a mean.",
        f"count only what the {pieces.count} micro-batches of one step hold",
        pieces.count,
        by,
        f"counts all {pieces.whole} rows",
    )


def _undivided(count: int) -> _Scale:
    return _Scale(
        "undivided",
        f"{count} times what the whole batch would give: it depends on the number of micro-batches",
        "a mean over one micro-batch, never divided by their number",
        "gradients of the micro-batches add up; the sum of means is not the mean of the whole.",
        f"divide the loss by the number of micro-batches ({count})",
        count,
    )


def _finding(trace: Trace, case: Accumulation, scale: _Scale) -> Finding:
    labels = []
    if case.step.site is not None:
        labels.append(Label(case.step.site, f"applies the sum of {scale.count} backwards"))
    if scale.by is not None and scale.by.site is not None:
        labels.append(Label(scale.by.site, scale.by_what))
    return Finding(
        CODE,
        NAME,
        "warning",
        f"the update of {wording.whom(trace, case.parameters)} is {scale.effect}",
        _place(case.backward),
        scale.here,
        labels,
        scale.why,
        f"{scale.count} backwards per step in {wording.plural(case.steps, 'traced step')}",
        scale.fix,
        parameters=trace.names(case.parameters),
        evidence={"backwards_per_step": scale.count, "divided_by": case.divided_by, "scale": scale.kind},
    )


def _place(backward: Backward) -> Site | None:
    """The loss as the function that calls backward sees it."""
    made, site = backward.made, backward.site
    return made if made is not None and site is not None and made.function == site.function else site
