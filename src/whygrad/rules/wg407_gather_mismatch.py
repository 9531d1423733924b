"""The index does not pick one value per row.

`q[:, actions]` takes the columns of all actions for every row: `(N, A)` becomes `(N, N)`. `gather` along
dimension 0 looks up rows by action number; along the agents of `(N, agents, A)` it reads only the first
action. Either way the loss trains values of other samples' actions.

Pick one value per row: `q.gather(1, actions.unsqueeze(1)).squeeze(1)` or `q[torch.arange(N), actions]`.

```python bad
import torch

q_net = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(4):
    obs, actions, target = torch.randn(8, 4), torch.randint(0, 3, (8,)), torch.randn(8)
    chosen = q_net(obs)[:, actions]  # WG407
    loss = (chosen - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

q_net = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(4):
    obs, actions, target = torch.randn(8, 4), torch.randint(0, 3, (8,)), torch.randn(8)
    chosen = q_net(obs).gather(1, actions.unsqueeze(1)).squeeze(1)
    loss = (chosen - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding
from whygrad.trace import Backward, Op, Trace
from whygrad.trace.anatomy import formula, tops

CODE = "WG407"
NAME = "gather-mismatch"
WHY = {
    "columns": "a slice and an index tensor pick every listed column for every row",
    "rows": "dimension 0 is the batch: the index numbers actions, and is used to look up rows",
    "across": "the index has one number per row for the last dimension, and is used along another one: of the last "
    "dimension only the first entry is ever read",
    "flat": "take() counts through the flattened table, so the index ends up in the first rows",
}

PER_ROW = "pick one per row: q.gather(1, actions.unsqueeze(1)).squeeze(1), or q[torch.arange(len(q)), actions]"


def check(trace: Trace) -> Iterator[Finding]:
    seen: set[object] = set()
    for backward in reversed(trace.rooted):
        assert backward.root is not None
        for op in formula(trace.graph, backward.root):
            picks = op.facts is not None and op.facts.picks and op.site not in seen
            if picks and _from_network(trace, op) and not _diagonal(trace, backward, op):
                seen.add(op.site)
                yield _finding(trace, backward, op)


def _from_network(trace: Trace, op: Op) -> bool:
    return bool(op.inputs) and bool(tops(trace.graph, op.inputs[0].op))


def _diagonal(trace: Trace, backward: Backward, op: Op) -> bool:
    """All columns first and the diagonal of that: one value per row after all."""
    assert backward.root is not None
    users = [user for user in formula(trace.graph, backward.root) if any(i.op == op.id for i in user.inputs)]
    return any(user.name in ("diagonal", "einsum", "diag_embed", "trace") for user in users)


def _finding(trace: Trace, backward: Backward, op: Op) -> Finding:
    assert op.facts is not None
    table = trace.graph[op.inputs[0].op]
    who = wording.whom(trace, trace.graph.reach(op.id))
    rows, across = math.prod(table.shape[:-1]), op.facts.picks == "across"
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, trace.graph.reach(op.id), 'is', 'are')} trained in the wrong entries: the index "
        "does not pick one value per row",
        op.site,
        f"picks {list(op.shape)} from {list(table.shape)}",
        [],
        f"{WHY[op.facts.picks]}; values that are not of the actions taken enter the loss.",
        f"{rows} rows, an index of {rows} numbers, and a result of shape {list(op.shape)} in {backward.name}",
        "gather along the last dimension: dim=-1" if across else PER_ROW,
        evidence={"shape": list(op.shape), "from": list(table.shape), "picks": op.facts.picks},
    )
