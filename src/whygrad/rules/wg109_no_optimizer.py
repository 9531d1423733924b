"""Trainable parameters get gradient, but no optimizer holds them.

The loss reaches them and nobody steps: modules kept in a plain Python list are missing from
`parameters()`, a shared encoder was forgotten, a head or an adapter was added after the optimizer
was built, a tensor was made trainable and never registered.

Register the module (`nn.ModuleList`, `nn.Parameter`) or add its parameters to the optimizer.

```python bad
import torch

encoder = torch.nn.Linear(4, 4)
head = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(head.parameters())  # WG109
for _ in range(3):
    loss = head(torch.tanh(encoder(torch.randn(8, 4)))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

encoder = torch.nn.Linear(4, 4)
head = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
for _ in range(3):
    loss = head(torch.tanh(encoder(torch.randn(8, 4)))).pow(2).mean()
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
from whygrad.trace.membership import idle, unheld

CODE = "WG109"
NAME = "no-optimizer"


def check(trace: Trace) -> Iterator[Finding]:
    yield from _idle(trace)
    for found in unheld(trace):
        if not found.optimizer.parameters:
            continue  # It was given nothing at all, which is another matter.
        who = wording.whom(trace, found.parameters)
        count = len(found.parameters)
        made = trace.parameter(min(found.parameters)).created
        labels = [Label(made, "made here")] if made is not None else []
        if found.backward.site is not None:
            labels.append(Label(found.backward.site, f"deposits gradient on all {count} of them"))
        yield Finding(
            CODE,
            NAME,
            "error",
            f"{who} {wording.verb(trace, found.parameters, 'gets', 'get')} gradient but never "
            f"{wording.verb(trace, found.parameters, 'moves', 'move')}; no optimizer holds "
            f"{wording.of_them(trace, found.parameters)}",
            found.optimizer.site,
            f"{found.optimizer.name} holds {wording.plural(len(found.optimizer.parameters), 'parameter')}, not these",
            labels,
            f"{found.backward.name} reaches them in every traced update, and no step consumes what it deposits.",
            f"{wording.plural(count, 'parameter')} with gradient, in none of "
            f"{wording.plural(len(trace.optimizers), 'optimizer')}",
            f"add them to {found.optimizer.name} (register modules with nn.ModuleList, tensors with nn.Parameter; "
            "build the optimizer last)",
            parameters=trace.names(found.parameters),
            evidence={"optimizer": found.optimizer.name, "loss": found.backward.name},
        )


def _idle(trace: Trace) -> Iterator[Finding]:
    """Looks like the same thing, was checked, is harmless."""
    found = idle(trace)
    if not found or not trace.optimizers:
        return
    who, collects = wording.whom(trace, found), wording.verb(trace, found, "collects", "collect")
    copy = next((c for c in reversed(trace.copies) if c.into & found.keys() and c.sources), None)
    harmless = (
        f"harmless, because it is only ever copied from {wording.whom(trace, copy.sources)}"
        if copy is not None
        else "harmless as long as it is meant to stay fixed"
    )
    yield Finding(
        CODE,
        NAME,
        "note",
        f"{who} {collects} gradient that no optimizer uses; {harmless}. no_grad would save the work",
        found[min(found)][-1].site,
        parameters=trace.names(found),
    )
