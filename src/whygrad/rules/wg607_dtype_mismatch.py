"""An operation got operands of different types, or an integer was asked for gradients.

PyTorch says "mat1 and mat2 must have the same dtype", "expected scalar type Float but found Double"
or "only Tensors of floating point dtype can require gradients". numpy makes float64 by default, and
torch keeps it.

Convert once, where the data enters torch: `torch.as_tensor(x, dtype=torch.float32)`.

```python bad
import numpy as np
import torch

net = torch.nn.Linear(4, 1)
obs = torch.from_numpy(np.zeros((8, 4)))
loss = net(obs).mean()  # WG607
loss.backward()
```

```python good
import numpy as np
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
obs = torch.from_numpy(np.zeros((8, 4), dtype=np.float32))
loss = net(obs).mean()
loss.backward()
optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import explaining, wording
from whygrad.finding import Finding
from whygrad.trace import Trace

CODE = "WG607"
NAME = "dtype-mismatch"


def check(trace: Trace) -> Iterator[Finding]:
    for error in explaining.raised(trace, CODE):
        dtypes = " and ".join(dict.fromkeys(error.detail.get("dtypes", "").split(", ")))
        yield explaining.finding(
            CODE,
            NAME,
            error,
            message=f"{wording.code(error.site)} cannot run: its operands are {dtypes or 'of different types'}",
            here="the types meet here",
            why="torch does not convert between floating types on its own, and only floating tensors have gradients.",
            fix="convert where the data enters torch: torch.as_tensor(x, dtype=torch.float32)",
        )
