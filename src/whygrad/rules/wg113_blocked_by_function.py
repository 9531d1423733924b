"""A custom `autograd.Function` on the only path returns None or zeros for its input.

The graph looks complete, but the function's own `backward` hands nothing on, so every parameter
behind it stays without gradient.

Return a gradient for each input that needs one: the true derivative or a straight-through estimate.

```python bad
import torch


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        return None


actor = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(actor.parameters())
for _ in range(3):
    action = Clip.apply(actor(torch.randn(8, 4)))  # WG113
    loss = (action - 0.5).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        return grad


actor = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(actor.parameters())
for _ in range(3):
    action = Clip.apply(actor(torch.randn(8, 4)))
    loss = (action - 0.5).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import cutting
from whygrad.finding import Finding
from whygrad.trace import Trace

CODE = "WG113"
NAME = "blocked-by-function"


def check(trace: Trace) -> Iterator[Finding]:
    for cut in cutting.of_kind(trace, "function"):
        hook = cut.op.hook is not None
        who = "this hook" if hook else f"{cut.op.written}.backward"
        yield cutting.finding(
            trace,
            CODE,
            NAME,
            cut,
            here=f"{who} returns {'zeros' if hook else 'nothing for this input'}",
            why=f"gradient arrives here, and {who} returns None or zeros instead of passing it on.",
            fix="return the gradient, scaled if need be, from the hook"
            if hook
            else f"return the gradient for each input from {who} (straight-through: return grad)",
        )
