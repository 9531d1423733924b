"""Probabilities are normalised over the batch instead of over the actions.

With `dim=0` on `(batch, actions)` each column sums to one: the samples of a batch compete with each other, and
the actions of one state do not. It runs, and learns nothing useful.

Normalise over the last dimension: `dim=-1`.

```python bad
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(4):
    obs, actions, weight = torch.randn(8, 4), torch.randint(0, 3, (8, 1)), torch.randn(8)
    log_probs = torch.log_softmax(policy(obs), dim=0)  # WG402
    loss = -(log_probs.gather(1, actions).squeeze(1) * weight).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(4):
    obs, actions, weight = torch.randn(8, 4), torch.randint(0, 3, (8, 1)), torch.randn(8)
    log_probs = torch.log_softmax(policy(obs), dim=-1)
    loss = -(log_probs.gather(1, actions).squeeze(1) * weight).mean()
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
from whygrad.trace.anatomy import behind_shaping, head, layer

CODE = "WG402"
NAME = "softmax-over-batch"
NORMALISING = frozenset({"softmax", "log_softmax", "logsumexp"})


def check(trace: Trace) -> Iterator[Finding]:
    seen: set[object] = set()
    for backward in reversed(trace.rooted):
        assert backward.root is not None
        for op in head(trace.graph, backward.root, gradient=False):
            if op.name in NORMALISING and op.site not in seen and _over_the_batch(trace, op):
                seen.add(op.site)
                yield _finding(trace, op)


def _over_the_batch(trace: Trace, op: Op) -> bool:
    """Along the first of two dimensions of what a weight matrix made row by row."""
    if op.facts is None or op.facts.dim != 0 or not op.inputs:
        return False
    source = trace.graph.ops.get(op.inputs[0].op)
    rank = 3 if op.facts.implied else 2
    if source is None or not 2 <= len(source.shape) <= rank or min(source.shape) < 2:
        return False
    made = behind_shaping(trace.graph, source.id)
    return made is not None and layer(trace.graph, made) and made.name == "linear" and made.shape == source.shape


def _finding(trace: Trace, op: Op) -> Finding:
    source = trace.graph[op.inputs[0].op]
    who = wording.whom(trace, trace.graph.made_from(op.id))
    rows, columns = source.shape[0], source.shape[-1]
    return Finding(
        CODE,
        NAME,
        "error",
        f"the probabilities of {who} are normalised over the batch: the {rows} samples compete, not the {columns} "
        "outputs",
        op.site,
        f"works along dimension 0 of {list(source.shape)}",
        [],
        "dimension 0 is the batch; each column sums to one over unrelated samples, and a row does not sum to one.",
        f"{op.name} over dim 0 of a network's output of shape {list(source.shape)}",
        "say dim=-1" if op.facts is not None and op.facts.implied else "use dim=-1",
        evidence={"dim": 0, "shape": list(source.shape)},
    )
