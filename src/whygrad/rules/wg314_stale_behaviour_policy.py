"""Rollouts come from a copy of the policy that is not refreshed when the policy trains.

A worker, an inference engine or a snapshot acts with old weights: the policy learns from the actions of
somebody else, and the ratio drifts away from one before the first step on a batch. A copy that is refreshed
in part (adapters left out, a filter by name) is stale in the rest.

Send the trained weights to the copy after each update, all of them.

```python bad
import copy
import torch

policy = torch.nn.Linear(4, 2)
actor = copy.deepcopy(policy)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
for _ in range(40):
    obs, advantage = torch.randn(8, 4), torch.randn(8)
    with torch.no_grad():
        old_log_prob = torch.log_softmax(actor(obs), -1)[:, 0]
    log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
    ratio = torch.exp(log_prob - old_log_prob)  # WG314
    loss = -(ratio * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import copy
import torch

policy = torch.nn.Linear(4, 2)
actor = copy.deepcopy(policy)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
for _ in range(40):
    obs, advantage = torch.randn(8, 4), torch.randn(8)
    with torch.no_grad():
        old_log_prob = torch.log_softmax(actor(obs), -1)[:, 0]
    log_prob = torch.log_softmax(policy(obs), -1)[:, 0]
    ratio = torch.exp(log_prob - old_log_prob)
    loss = -(ratio * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    actor.load_state_dict(policy.state_dict())
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import leaking, wording
from whygrad.finding import Finding, Label
from whygrad.trace import Trace
from whygrad.trace.refreshing import Behaviour, stale_behaviour

CODE = "WG314"
NAME = "stale-behaviour-policy"


def check(trace: Trace) -> Iterator[Finding]:
    for case in stale_behaviour(trace):
        yield _finding(trace, case)


def _finding(trace: Trace, case: Behaviour) -> Finding:
    who, policy = wording.whom(trace, case.stale), wording.whom(trace, case.policy)
    forward = leaking.outside(trace, case.forward)
    labels = []
    still = min(trace.parameter(n).still for n in case.stale)
    if case.copy is not None:
        site, here = case.copy.site, "refreshes it without these parameters" if case.partly else "leaves it as it was"
        if forward is not None:
            labels.append(Label(forward, "acts with the old weights"))
    else:
        site, here = case.use.site or forward, f"compares {policy} with a copy that is never refreshed"
        if forward is not None and forward != site:
            labels.append(Label(forward, "acts with the old weights"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"rollouts come from {who}, which {wording.verb(trace, case.stale, 'stays', 'stay')} at first values while "
        f"{policy} trains",
        site,
        here,
        labels,
        "the policy learns from actions that another, older policy chose; the farther it moves, the less they say.",
        f"{wording.plural(len(case.stale), 'parameter')} unchanged through {still} of {trace.updates} updates",
        f"copy all of {policy} into it after each update",
        parameters=trace.names(case.stale),
        evidence={"updates": still, "partly_refreshed": case.partly},
    )
