"""Probabilities are given where logits are expected.

`cross_entropy`, `log_softmax` and `Categorical(logits=…)` normalise by themselves. Fed with a softmax they
squash a second time: probabilities between 0 and 1 as logits can never make the policy decisive, and the
gradient shrinks. Mixed with a uniform share they are probabilities still. `nll_loss` wants logarithms, not
probabilities; so does whatever the script itself calls a log-probability.

Pass the raw output of the last layer, or say `Categorical(probs=…)`.

```python bad
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(4):
    obs, weight = torch.randn(8, 4), torch.randn(8)
    dist = torch.distributions.Categorical(logits=torch.softmax(policy(obs), dim=-1))  # WG403
    loss = -(dist.log_prob(dist.sample()) * weight).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(4):
    obs, weight = torch.randn(8, 4), torch.randn(8)
    dist = torch.distributions.Categorical(probs=torch.softmax(policy(obs), dim=-1))
    loss = -(dist.log_prob(dist.sample()) * weight).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.source import expressions
from whygrad.trace import Op, Trace
from whygrad.trace.anatomy import behind_shaping, formula, heads
from whygrad.trace.graph import Graph
from whygrad.trace.operations import LOGS, NORMALISING, PROBABILITIES, SCALINGS

CODE = "WG403"
NAME = "probabilities-as-logits"
EXPECTS = {
    **dict.fromkeys(NORMALISING, "softmax"),
    "nll_loss": "softmax",
    "binary_cross_entropy_with_logits": "sigmoid",
    "logsigmoid": "sigmoid",
}
"""Consumers of logits (or logarithms), and the function whose output they must not get."""

LOGARITHM = re.compile(r"(^|_)log_?(p|pi|probs?|prob(ability|abilities)|likelihoods?)(_|\d|$)", re.IGNORECASE)
"""What people call the logarithm of a probability."""
FLOORS = frozenset({"clamp", "maximum", "gather", "add"})
"""What leaves a probability one; a floor that keeps it from zero is often added."""
OTHERWISE = {"nll_loss": ", or log_softmax of it", "logsumexp": "; a distribution takes probabilities as probs="}


def check(trace: Trace) -> Iterator[Finding]:
    seen: set[object] = set()
    for backward in reversed(trace.rooted):
        assert backward.root is not None
        for op in formula(trace.graph, backward.root):
            made = _given(trace, op)
            if made is not None and op.site not in seen:
                seen.add(op.site)
                yield _finding(trace, op, made)
    for op, made in _misnamed(trace):
        if op.site not in seen:
            seen.add(op.site)
            yield _forgotten(trace, op, made)


def _misnamed(trace: Trace) -> Iterator[tuple[Op, Op]]:
    """What the script calls a log-probability and multiplies, though it is a probability still."""
    for backward in reversed(trace.rooted):
        assert backward.root is not None
        within = formula(trace.graph, backward.root)
        logs = {op.id for op in heads(trace.graph, [start.id for start in within if start.name in LOGS])}
        for op in within:
            made = _probability(trace.graph, op) if op.id not in logs else None
            name = expressions.name(op.site).rpartition(".")[2] if made is not None else ""
            if made is not None and name.isidentifier() and LOGARITHM.search(name):
                yield op, made


def _probability(graph: Graph, op: Op) -> Op | None:
    """The softmax that an operation's result still is an entry of."""
    if op.name not in FLOORS and op.name not in PROBABILITIES:
        return None
    found: Op | None = op
    while found is not None and found.name in FLOORS and found.inputs:
        if found.name == "add" and found.scalar is None:
            return None
        found = behind_shaping(graph, found.inputs[0].op)
    return found if found is not None and found.name in PROBABILITIES else None


def _given(trace: Trace, op: Op) -> Op | None:
    """The softmax (or sigmoid) whose output is consumed as logits, over the same entries."""
    wrong = EXPECTS.get(op.name)
    if wrong is None or not op.inputs:
        return None
    source = trace.graph[op.inputs[0].op] if op.inputs[0].op in trace.graph.ops else None
    made = _unmixed(trace.graph, behind_shaping(trace.graph, op.inputs[0].op))
    if made is None or source is None or made.name != wrong:
        return None
    if wrong == "softmax" and source.shape[-1:] != made.shape[-1:]:
        return None
    along = op.facts.dim if op.facts is not None else None
    last = len(source.shape) - 1
    return made if along in (None, last) or op.name in ("cross_entropy", "nll_loss") else None


def _unmixed(graph: Graph, op: Op | None) -> Op | None:
    """What is below a mixture with the uniform distribution, `(1 - e) * p + e / n`: still probabilities."""
    if op is None or op.name != "add" or op.scalar is None or not op.shape:
        return op
    scaled = next((found for i, found in graph.operands(op) if op.passes(i)), None)
    if scaled is None or scaled.name not in SCALINGS or scaled.scalar is None:
        return op
    whole = math.isclose(scaled.scalar + op.scalar * op.shape[-1], 1.0, rel_tol=1e-6)
    return behind_shaping(graph, scaled.id) if whole else op


def _finding(trace: Trace, op: Op, made: Op) -> Finding:
    who = wording.whom(trace, trace.graph.reach(op.id))
    takes = "logarithms of probabilities" if op.name == "nll_loss" else "logits"
    why = (
        "nll_loss picks the entry of the right class and negates it: it has to be a logarithm."
        if op.name == "nll_loss"
        else f"{made.written} squashed them to between 0 and 1 already; squashed again, no output can become decisive "
        "and the gradient stays small."
    )
    labels = [Label(made.site, f"{made.written}: probabilities from here on")] if made.site is not None else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, trace.graph.reach(op.id), 'is', 'are')} trained through a wrong formula: "
        f"probabilities go where {takes} are expected",
        op.site,
        f"expects {takes}, gets the output of {made.written}",
        labels,
        why,
        f"{op.written} applied to the output of {made.written}",
        "pass the output of the last layer as it is" + OTHERWISE.get(op.name, ""),
        evidence={"consumer": op.written, "given": made.written},
    )


def _forgotten(trace: Trace, op: Op, made: Op) -> Finding:
    name = expressions.name(op.site)
    reach = trace.graph.reach(op.id)
    return Finding(
        CODE,
        NAME,
        "warning",
        f"{wording.whom(trace, reach)} {wording.verb(trace, reach, 'is', 'are')} trained through a wrong formula: "
        f"{name} holds probabilities, the logarithm was never taken",
        op.site,
        f"a probability between 0 and 1, called {name}",
        [Label(made.site, f"{made.written}: probabilities from here on")] if made.site is not None else [],
        "a policy gradient or an entropy is made of logarithms; with the probabilities themselves, likely actions "
        "count more and the entropy has the wrong sign.",
        f"{name} comes from {made.written}, and no logarithm follows on the way to the loss",
        "take the logarithm: log_softmax of the logits, or the distribution's log_prob() or logits",
        evidence={"name": name, "given": made.written},
    )
