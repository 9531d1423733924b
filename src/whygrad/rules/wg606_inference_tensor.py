"""A tensor made under `inference_mode` is used in a forward that needs gradient.

PyTorch says "Inference tensors cannot be saved for backward". Tensors created under
`torch.inference_mode()` can never take part in autograd, also outside of it.

Collect with `torch.no_grad()` instead, or `.clone()` the tensor outside the region.

```python bad
import torch

body, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
with torch.inference_mode():  # WG606
    features = body(torch.randn(8, 4))
head(features).mean().backward()
```

```python good
import torch

body, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
with torch.no_grad():
    features = body(torch.randn(8, 4))
head(features).mean().backward()
optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import explaining
from whygrad.finding import Finding
from whygrad.trace import Trace

CODE = "WG606"
NAME = "inference-tensor"


def check(trace: Trace) -> Iterator[Finding]:
    for error in explaining.raised(trace, CODE):
        what = f"`{error.subject}`" if error.subject else "a tensor"
        yield explaining.finding(
            CODE,
            NAME,
            error,
            message=f"the update cannot use {what}: it was made under inference_mode",
            here="everything created inside this region is shut out from autograd for good"
            if error.culprit is not None
            else "used here",
            why="inference tensors keep no bookkeeping that backward needs, and this forward has to save one.",
            fix="use torch.no_grad() here, or clone() the tensor outside the region before using it",
        )
