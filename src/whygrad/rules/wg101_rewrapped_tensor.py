"""A value with history is copied into a new tensor, and the history stays behind.

`torch.tensor(x)`, `as_tensor(list)`, `FloatTensor(...)`, `nn.Parameter(x)` and `Variable(x)` copy
numbers. The copy is a new leaf: backward stops there and everything before it gets no gradient.
Setting `requires_grad=True` on such a copy, or on a loss that has lost its graph, only silences
PyTorch's error: backward then succeeds and trains nothing.

Use the tensor itself. To collect several, use `torch.stack` or `torch.cat`.

```python bad
import torch

policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(3):
    dist = torch.distributions.Categorical(logits=policy(torch.randn(8, 4)))
    log_probs = [p for p in dist.log_prob(dist.sample())]
    collected = torch.tensor(log_probs, requires_grad=True)  # WG101
    loss = -(collected * torch.randn(8)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(3):
    dist = torch.distributions.Categorical(logits=policy(torch.randn(8, 4)))
    log_probs = [p for p in dist.log_prob(dist.sample())]
    collected = torch.stack(log_probs)
    loss = -(collected * torch.randn(8)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import cutting, wording
from whygrad.finding import Finding
from whygrad.source import expressions
from whygrad.trace import Kind, Trace
from whygrad.trace.cuts import Cut

CODE = "WG101"
NAME = "rewrapped-tensor"
WRITTEN = {"Parameter": "nn.Parameter", "Variable": "Variable", "new_tensor": "new_tensor"}


def check(trace: Trace) -> Iterator[Finding]:
    for cut in cutting.of_kind(trace, "copy", "flag"):
        yield _flagged(trace, cut) if cut.kind == "flag" else _copied(trace, cut)


def _copied(trace: Trace, cut: Cut) -> Finding:
    call = WRITTEN.get(cut.op.written, f"torch.{cut.op.written}")
    found = cutting.finding(
        trace,
        CODE,
        NAME,
        cut,
        here="the graph ends here: a new leaf without history",
        why=f"{call}() copies the numbers and drops the history; gradient cannot pass a copy.",
        fix=_fix(cut),
    )
    if cut.op.requires_grad:
        found.not_a_fix = "requires_grad=True on the copy: it only silences PyTorch's error"
    return found


def _fix(cut: Cut) -> str:
    if cut.site is not None and expressions.replaces_itself(cut.site):
        return f"delete line {cut.site.line}"
    several = len(cut.op.inputs) > 1
    return "use torch.stack (or torch.cat) on the tensors" if several else "use the tensor itself, without the copy"


def _flagged(trace: Trace, cut: Cut) -> Finding:
    origin = cut.origin if cut.origin is not None and cut.origin.kind is not Kind.FLAG else None
    lost = (
        f"find what cut it: {wording.code(origin.site)} at {wording.where(origin.site)}"
        if origin
        else ("remove the flag and repair what cut the loss")
    )
    found = cutting.finding(
        trace,
        CODE,
        NAME,
        cut,
        here="the loss had already lost its graph; this makes it a leaf of its own",
        why="requires_grad on a finished value does not bring its history back: backward stops at the loss itself.",
        fix=lost,
    )
    found.not_a_fix = "requires_grad=True on a loss"
    return found
