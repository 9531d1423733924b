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
from whygrad.finding import Finding, Label
from whygrad.trace import Op, Trace
from whygrad.trace.anatomy import behind_shaping, formula, layer
from whygrad.trace.graph import Graph
from whygrad.trace.operations import DIVISIONS

CODE = "WG402"
NAME = "softmax-over-batch"
NORMALISING = frozenset({"softmax", "log_softmax", "logsumexp"})
PICKING = frozenset({"multinomial", "gather"})
BATCHED = frozenset({"matmul", "addmm"})
SUMMING = frozenset({"logsumexp", "sum"})
ELEMENTWISE = frozenset({"exp", "log", "clamp", "clone", "dropout", "to", "broadcast_tensors"})


def check(trace: Trace) -> Iterator[Finding]:
    seen: set[object] = set()
    for backward in reversed(trace.rooted):
        assert backward.root is not None
        for op in formula(trace.graph, backward.root, gradient=False):
            if op.name in NORMALISING and op.site not in seen and _over_the_batch(trace, op):
                seen.add(op.site)
                yield _finding(trace, op)
    for op, user in [*_used_by_row(trace), *_mixed(trace)]:
        if op.site not in seen:
            seen.add(op.site)
            yield _finding(trace, op, user)


def _used_by_row(trace: Trace) -> Iterator[tuple[Op, Op]]:
    """Normalised along an earlier dimension, and then drawn from, picked from or summed up along the last one."""
    graph = trace.graph
    for user in graph.ops.values():
        if user.name not in PICKING and user.name not in BATCHED:
            continue
        found = _normalised(graph, user)
        if found is None:
            continue
        op, again = found
        rank, dim = len(op.shape), op.facts.dim if op.facts is not None else None
        if rank < (3 if user.name in BATCHED else 2) or min(op.shape) < 2 or not trace.graph.made_from(op.id):
            continue
        along = user.facts.dim if user.facts is not None and user.name == "gather" else rank - 1
        # (batch, atoms, actions) is rightly picked from along the last dimension; a distribution is over the last one.
        if along == rank - 1 and (dim == 0 or (again and dim is not None and dim < rank - 1)):
            yield op, user


def _mixed(trace: Trace) -> Iterator[tuple[Op, Op]]:
    """Log-weights normalised along an earlier dimension, and the mixture then summed along the last one."""
    graph = trace.graph
    for user in graph.ops.values():
        if user.name not in SUMMING:
            continue
        inner = graph.ops.get(user.inputs[0].op) if user.inputs else None
        last = inner is not None and user.facts is not None and user.facts.dim == len(inner.shape) - 1
        if inner is None or not last or (user.name == "sum" and inner.name != "exp"):
            continue
        added = _added(graph, inner)
        weights = [op for op in added if op.name == "log_softmax" and len(added) > 1]
        if any(op.facts is None or op.facts.dim in (None, len(op.shape) - 1) for op in weights):
            continue  # Something is normalised over what is summed: the others may well be classes.
        yield from ((op, user) for op in weights if op.shape == inner.shape and min(op.shape) > 1)


def _added(graph: Graph, op: Op) -> list[Op]:
    """The summands of what is exponentiated; the largest may have been taken out."""
    while op.name in ELEMENTWISE or op.name == "sub":
        following = graph.ops.get(op.inputs[0].op) if op.inputs else None
        if following is None:
            break
        op = following
    if op.name != "add":
        return [op]
    return [summand for i in op.inputs if i.op in graph.ops for summand in _added(graph, graph[i.op])]


def _normalised(graph: Graph, user: Op) -> tuple[Op, bool] | None:
    """What normalised the values that are used here, and whether they were divided by the sum of each row after it."""
    op = _carried(graph, user)
    again = False
    while op is not None and op.inputs and (op.name in ELEMENTWISE or _divides_by_sum(graph, op)):
        again = again or _divides_by_sum(graph, op)
        op = _carried(graph, op)
    return (op, again) if op is not None and op.name in NORMALISING else None


def _carried(graph: Graph, op: Op) -> Op | None:
    """The operand that carries gradient, else the first."""
    return next((graph.ops.get(i.op) for i in [*filter(op.passes, op.inputs), *op.inputs]), None)


def _divides_by_sum(graph: Graph, op: Op) -> bool:
    """As `Categorical(probs=...)` does to what it is given."""
    if op.name not in DIVISIONS or len(op.inputs) != 2:
        return False
    total = graph.ops.get(op.inputs[1].op)
    last = total is not None and total.facts is not None and total.facts.dim == len(op.shape) - 1
    return total is not None and last and total.name == "sum" and total.inputs[0].op == op.inputs[0].op


def _over_the_batch(trace: Trace, op: Op) -> bool:
    """Along the first of two dimensions of what a weight matrix made row by row."""
    if op.facts is None or op.facts.dim != 0 or not op.inputs:
        return False
    source = trace.graph.ops.get(op.inputs[0].op)
    rank = 3 if op.facts.implied else 2
    if source is None or not 2 <= len(source.shape) <= rank or min(source.shape) < 2:
        return False
    made = behind_shaping(trace.graph, source.id)
    rows = made is not None and made.shape[:-1] == source.shape[:-1]  # A part of the columns may be split off.
    return made is not None and rows and layer(trace.graph, made) and made.name == "linear"


def _finding(trace: Trace, op: Op, user: Op | None = None) -> Finding:
    assert op.facts is not None
    source = trace.graph[op.inputs[0].op]
    who = wording.whom(trace, trace.graph.made_from(op.id))
    dim = op.facts.dim or 0
    rows, columns = source.shape[dim], source.shape[-1]
    where = "the batch" if dim == 0 else f"dimension {dim} of {len(source.shape)}"
    holds = "dimension 0 is the batch" if dim == 0 else f"dimension {dim} holds samples or time steps"
    return Finding(
        CODE,
        NAME,
        "error",
        f"the probabilities of {who} are normalised over {where}: the {rows} samples compete, not the {columns} "
        "outputs",
        op.site,
        f"works along dimension {dim} of {list(source.shape)}",
        [Label(user.site, "goes along the last dimension")] if user is not None and user.site is not None else [],
        f"{holds}; each column sums to one over unrelated samples, and a row does not sum to one.",
        f"{op.written} over dim {dim} of shape {list(source.shape)}"
        + (f", then {user.written} over the last dim" if user is not None else ""),
        "say dim=-1" if op.facts.implied else "use dim=-1",
        evidence={"dim": dim, "shape": list(source.shape)},
    )
