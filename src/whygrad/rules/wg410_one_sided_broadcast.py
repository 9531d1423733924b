"""A prediction with one column is compared with several.

`(B, 1)` with `(B, A)` broadcasts: the single output is fitted to all columns of the target at once and can only reach
their mean. Usually the last layer has the wrong width, or a dimension was reduced too early.

Give the prediction one output per column of the target, or reduce the target first.

```python bad
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(4):
    obs, next_obs = torch.randn(8, 4), torch.randn(8, 4)
    loss = (model(obs) - next_obs).pow(2).mean()  # WG410
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(4):
    obs, next_obs = torch.randn(8, 4), torch.randn(8, 4)
    loss = (model(obs) - next_obs).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding
from whygrad.trace import Op, Trace
from whygrad.trace.anatomy import behind_shaping, layer
from whygrad.trace.errors import errors
from whygrad.trace.losses import latest
from whygrad.trace.operations import DIFFERENCES

CODE = "WG410"
NAME = "one-sided-broadcast"
ERRORS = DIFFERENCES | {"mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss"}
AXES = frozenset({"unsqueeze", "expand", "repeat", "select", "reshape"})
"""Ways to add a dimension on purpose."""


def check(trace: Trace) -> Iterator[Finding]:
    said: set[object] = set()
    for backward in latest(trace):
        assert backward.root is not None
        for error in errors(trace.graph, backward.root):
            for op in (error.op, *(found for _, found in trace.graph.operands(error.op))):
                pair = _widened(trace, op)
                if pair is not None and op.site not in said:
                    said.add(op.site)
                    yield _finding(trace, op, *pair)


def _widened(trace: Trace, op: Op) -> tuple[Op, Op] | None:
    """A network's single column, and the wider constant it is compared with."""
    values = [(i, found) for i, found in trace.graph.operands(op) if not i.selector]
    if len(values) != 2 or op.name not in ERRORS:
        return None
    for (first, narrow), (second, wide) in (values, values[::-1]):
        shapes = narrow.shape[:-1] == wide.shape[:-1] and len(narrow.shape) > 1
        if not shapes or narrow.shape[-1] != 1 or wide.shape[-1] < 2 or not op.passes(first) or second.carries:
            continue
        made = behind_shaping(trace.graph, narrow.id)
        if narrow.name not in AXES and made is not None and layer(trace.graph, made) and made.shape[-1] == 1:
            return narrow, wide
    return None


def _finding(trace: Trace, op: Op, narrow: Op, wide: Op) -> Finding:
    reach = trace.graph.reach(narrow.id)
    who, columns = wording.whom(trace, reach), wide.shape[-1]
    return Finding(
        CODE,
        NAME,
        "warning",
        f"{who} {wording.verb(trace, reach, 'fits', 'fit')} {columns} columns with one output: shapes "
        f"{list(narrow.shape)} and {list(wide.shape)} broadcast",
        op.site,
        f"{list(narrow.shape)} with {list(wide.shape)}",
        [],
        f"the one output is compared with all {columns} columns and can only reach their mean.",
        "shapes as they were in the latest traced update",
        f"give the last layer {columns} outputs, or reduce the target to one column first",
        parameters=trace.names(reach),
        evidence={"shapes": [list(narrow.shape), list(wide.shape)]},
    )
