"""Updates are smaller than half precision can hold.

A weight in bfloat16 has about three decimal digits. An update of a thousandth of the weight is rounded away: the
gradient is there, the optimizer steps, and the weight stays as it was.

The other end of the range: a gradient scaler (`torch.amp.GradScaler`) halves its factor whenever a gradient overflows
float16, and leaves that step out. A factor that has fallen below one no longer protects anything: values are too
large for float16 however they are scaled, and what is small vanishes.

Keep the weights in float32 and use autocast for the forward, or keep a float32 copy in the optimizer. Under a scaler,
scale rewards and targets down, or use bfloat16, which has the range of float32 and needs no scaler.

```python bad
import torch

model = torch.nn.Linear(8, 1).to(torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
for _ in range(6):
    obs, target = torch.randn(8, 8).bfloat16(), torch.randn(8).bfloat16()
    loss = (model(obs).squeeze(-1) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # WG507
```

```python good
import torch

model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
for _ in range(6):
    obs, target = torch.randn(8, 8), torch.randn(8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        prediction = model(obs).squeeze(-1)
    loss = (prediction.float() - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Optimizer, Scaler, Step, Trace
from whygrad.trace.nonfinite import origins, ruined
from whygrad.trace.spells import throughout

CODE = "WG507"
NAME = "precision-loss"
MOST = 0.7
"""Share of the weights with a gradient that a step leaves exactly as they were."""
OFTEN = 4
"""Traced steps, all of which must lose most of their updates."""
LASTING = 5
"""In a row, where other steps keep theirs."""
COLLAPSED = 0.0625
"""Factor of a gradient scaler at the end of the run. It begins at 65,536 and settles in the hundreds or thousands;
below one it makes gradients smaller, and 2⁻⁴ leaves room for a run that was stopped while it was finding its level."""
FALL = 1024.0
"""How far the factor must have fallen: one that was chosen small is meant."""


def check(trace: Trace) -> Iterator[Finding]:
    for optimizer in trace.optimizers:
        steps = [s for s in trace.steps if s.optimizer == optimizer.id and s.rounded_away is not None]
        when = throughout([(s.update, (s.rounded_away or 0.0) >= MOST) for s in steps], int(OFTEN), int(LASTING))
        if when is not None:
            part = [s for s in steps if when.first <= s.update <= when.last]
            found = _finding(trace, optimizer, part[-1], median(s.rounded_away or 0.0 for s in part), len(part))
            yield wording.past(found, when) if when.times < len(steps) else found
    if origins(trace) or ruined(trace):
        return  # Where the first NaN was made is the better answer.
    for scaler in trace.scalers:
        if scaler.end <= COLLAPSED and scaler.end * FALL <= scaler.start:
            yield _collapsed(trace, scaler)


def _collapsed(trace: Trace, scaler: Scaler) -> Finding:
    numbers = frozenset(n for optimizer in trace.optimizers for n in optimizer.parameters)
    who = wording.whom(trace, numbers)
    skipped = min(round(scaler.overflows), scaler.calls)
    effect = (
        f"{who} {wording.verb(trace, numbers, 'is', 'are')} not learning: nearly every step overflows and is left out"
        if scaler.stuck
        else f"the gradients of {who} fit into float16 only scaled down: the loss scale fell to {scaler.end:.1e}"
    )
    return Finding(
        CODE,
        NAME,
        "error" if scaler.stuck else "warning",
        effect,
        scaler.site,
        f"the scale fell from {scaler.start:g} to {scaler.end:.1e}",
        [],
        "the scaler halves its factor and leaves the step out whenever a gradient is infinite or NaN in float16; a "
        "factor below one means that they are too large even unscaled.",
        f"at least {skipped} of {scaler.calls} scaled losses overflowed",
        "scale rewards and targets down or clip them, or use torch.bfloat16, which needs no scaler",
        parameters=trace.names(numbers),
        evidence={"scale": scaler.end, "start": scaler.start, "losses": scaler.calls},
    )


def _finding(trace: Trace, optimizer: Optimizer, step: Step, lost: float, times: int) -> Finding:
    numbers = frozenset(step.consumed)
    who = wording.whom(trace, numbers)
    labels = [Label(optimizer.site, f"{optimizer.name} holds weights in half precision")] if optimizer.site else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} hardly {wording.verb(trace, numbers, 'moves', 'move')}: {lost:.0%} of the updates are rounded away",
        step.site,
        "adds less than the last digit of a weight in half precision",
        labels,
        "bfloat16 keeps 8 bits of a weight, float16 11; a smaller change leaves the weight exactly as it was.",
        f"{lost:.0%} of the weights with a gradient were bit for bit the same after a step (median of {times})",
        "keep the weights in float32 and run the forward under torch.autocast",
        parameters=trace.names(numbers),
        evidence={"unchanged": lost, "rates": list(optimizer.rates)},
    )
