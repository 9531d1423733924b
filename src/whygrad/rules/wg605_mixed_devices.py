"""An operation got operands that live on different devices.

PyTorch says "Expected all tensors to be on the same device". The usual forgotten one is a batch made
by `torch.tensor(...)` on the CPU, a buffer, or a network that was moved after its copy was taken.

Move everything once, where it is created: `.to(device)`.

```python
net = Policy().to(device)
obs = torch.as_tensor(obs, device=device)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import explaining, wording
from whygrad.finding import Finding
from whygrad.trace import Trace

CODE = "WG605"
NAME = "mixed-devices"


def check(trace: Trace) -> Iterator[Finding]:
    for error in explaining.raised(trace, CODE):
        devices = error.detail.get("devices", "different devices")
        yield explaining.finding(
            CODE,
            NAME,
            error,
            message=f"{wording.code(error.site)} cannot run: its operands are on {devices}",
            here="the operands meet here",
            why="an operation runs on one device; each operand has to be moved there before.",
            fix="create or move the odd one with .to(device) where it is made",
        )
