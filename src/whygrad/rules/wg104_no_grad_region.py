"""The forward that the loss needs ran while gradient recording was switched off.

Inside `torch.no_grad()`, `inference_mode()` or after `set_grad_enabled(False)` operations leave no
history. That is right for acting and for targets; a helper written for acting and reused in the
update, or a `with` that covers one line too many, cuts the update's own forward.

Compute what the loss needs outside the region.

```python bad
import torch

net = torch.nn.Linear(4, 2)
head = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()])


@torch.no_grad()  # WG104
def q_values(obs):
    return net(obs)


for _ in range(3):
    obs = torch.randn(8, 4)
    loss = (q_values(obs)[:, :1] + head(obs) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

net = torch.nn.Linear(4, 2)
head = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()])


@torch.no_grad()
def act(obs):
    return net(obs).argmax(1)


for _ in range(3):
    obs = torch.randn(8, 4)
    act(obs)
    loss = (net(obs)[:, :1] + head(obs) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import cutting
from whygrad.finding import Finding, Label
from whygrad.trace import Trace

CODE = "WG104"
NAME = "no-grad-region"


def check(trace: Trace) -> Iterator[Finding]:
    found = list(cutting.of_kind(trace, "no-grad"))
    if not found:
        yield from _still_off(trace)
    for cut in found:
        region = cut.op.region
        how = region.how if region is not None else "no_grad"
        finding = cutting.finding(
            trace,
            CODE,
            NAME,
            cut,
            here=f"{how} switches gradient recording off from here",
            why=f"operations under {how} leave no history, and the loss is computed from what ran inside.",
            fix=f"run the forward that the loss needs outside {how}; keep the region for acting and targets",
        )
        if cut.op.site is not None and cut.op.site != cut.site:
            finding.labels = [label for label in finding.labels if not label.text.startswith("still connected")]
            finding.labels.insert(0, Label(cut.op.site, "this ran inside it, so the loss has no path back from here"))
        yield finding


def _still_off(trace: Trace) -> Iterator[Finding]:
    """Backward raised while gradient was switched off, by something around it or never undone."""
    raised = trace.raised
    if raised is None or raised.region is None or raised.region.site is None:
        return
    how = raised.region.how
    if how.startswith("set_grad_enabled"):
        off, why = "still off", f"operations after {how} leave no history until it is undone."
        here = f"{how} switched it off here, and nothing has switched it on again"
        fix = "use `with torch.no_grad():` around the part that needs none, so that it ends by itself"
    else:
        off, why = "off", "operations in there leave no history, nor do those of the functions it calls."
        here = f"{how} is in force up to the line that raised"
        fix = f"end {how} before that, or put it only around what needs no gradient"
    yield Finding(
        CODE,
        NAME,
        "error",
        f"{raised.subject or 'the loss'} has no graph: gradient recording is {off} when it is computed",
        raised.region.site,
        here,
        [Label(raised.site, "raised here")] if raised.site is not None else [],
        why,
        f"{raised.type}: {raised.message}",
        fix,
        evidence={"raised": raised.message, "cause": "no-grad"},
    )
