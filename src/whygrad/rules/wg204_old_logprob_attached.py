"""The old log-probability in a probability ratio carries gradient.

`ratio = exp(new - old)` compares the policy with the one that acted. When `old` keeps its graph, its
gradient works against that of `new`: at the first minibatch the two cancel exactly and nothing is learnt.

Compute the old log-probabilities under `torch.no_grad()` during the rollout, or detach them.

```python bad
import torch

policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(4):
    obs, advantage = torch.randn(8, 4), torch.randn(8)
    old_log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
    log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
    ratio = torch.exp(log_prob - old_log_prob)  # WG204
    loss = -(ratio * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters())
for _ in range(4):
    obs, advantage = torch.randn(8, 4), torch.randn(8)
    with torch.no_grad():
        old_log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
    log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
    ratio = torch.exp(log_prob - old_log_prob)
    loss = -(ratio * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import leaking, wording
from whygrad.finding import Finding
from whygrad.trace import Trace
from whygrad.trace.anatomy import tops
from whygrad.trace.leaks import Leak, leak_onto
from whygrad.trace.ratios import Ratio, made_of, ratios, reused

CODE = "WG204"
NAME = "old-logprob-attached"


def check(trace: Trace) -> Iterator[Finding]:
    found = [leak for ratio in ratios(trace) if ratio.attached and (leak := _leak(trace, ratio)) is not None]
    for leak in leaking.merged(trace, found):
        yield _finding(trace, leak)


def _leak(trace: Trace, ratio: Ratio) -> Leak | None:
    graph = trace.graph
    apart = not {op.id for op in tops(graph, ratio.new)} & {op.id for op in tops(graph, ratio.old)}
    raised = trace.raised is not None and trace.raised.backward == ratio.backward.id
    both = graph.reach(ratio.new) & graph.reach(ratio.old)
    if not both and ratio in reused(trace):
        both = graph.reach(ratio.old)
    if not (apart or made_of(graph, ratio.old, ratio.new)):
        return None
    return leak_onto(trace, ratio.backward, ratio.op, graph[ratio.old], both, raised=raised)


def _finding(trace: Trace, leak: Leak) -> Finding:
    who = wording.whom(trace, leak.parameters)
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, leak.parameters, 'is trained against itself', 'are trained against themselves')}: "
        f"the old log-probability in the ratio keeps its gradient{wording.in_part(leak.when)}"
        if leak.optimizers
        else "backward fails: the old log-probability in the ratio keeps its graph, and an earlier backward freed it",
        leak.op.site,
        "both sides of the ratio carry gradient",
        leaking.labels(trace, leak, "the old log-probability is computed here, with a graph"),
        "the gradient through the old log-probability has the opposite sign; while the policy has not moved the two "
        "cancel.",
        leaking.seen(trace, leak) if leak.optimizers else "the backward through the old graph failed",
        "compute the old log-probabilities under torch.no_grad(), or detach() them before the ratio",
        parameters=trace.names(leak.parameters),
        evidence=leaking.evidence(leak),
    )
