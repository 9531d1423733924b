"""A part that several terms share gets nearly all of its gradient from one of them.

Policy and value often stand on one trunk. Where the returns are in the hundreds, the gradient of the value loss is,
too, and that of the policy loss is lost beside it: the trunk learns what helps the value, and a clip of the whole norm
then shrinks the policy's own part along with it. Nothing is wrong with the graph, so this is a note.

Scale the returns (or the value loss) until both shares count, normalise the value targets, or give policy and value
networks of their own.

```python bad
import torch

torch.manual_seed(0)
trunk = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh())
actor, critic = torch.nn.Linear(16, 2), torch.nn.Linear(16, 1)
parameters = [*trunk.parameters(), *actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)
for _ in range(6):
    features = trunk(torch.randn(64, 4))
    policy = torch.distributions.Categorical(logits=actor(features))
    actions = policy.sample()
    returns = 500.0 + 100.0 * torch.randn(64)
    values = critic(features).squeeze(-1)
    advantage = (returns - values).detach()
    advantage = (advantage - advantage.mean()) / advantage.std()
    policy_loss = -(policy.log_prob(actions) * advantage).mean()
    value_loss = (values - returns).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss
    optimizer.zero_grad()
    loss.backward()  # WG508
    optimizer.step()
```

```python good
import torch

torch.manual_seed(0)
trunk = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh())
actor, critic = torch.nn.Linear(16, 2), torch.nn.Linear(16, 1)
parameters = [*trunk.parameters(), *actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)
for _ in range(6):
    features = trunk(torch.randn(64, 4))
    policy = torch.distributions.Categorical(logits=actor(features))
    actions = policy.sample()
    returns = torch.randn(64)  # scaled
    values = critic(features).squeeze(-1)
    advantage = (returns - values).detach()
    policy_loss = -(policy.log_prob(actions) * advantage).mean()
    value_loss = (values - returns).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Trace
from whygrad.trace.domination import Dominated, dominated

CODE = "WG508"
NAME = "dominated-trunk"
SHARE = 0.95
"""Of the module's gradient, by norm, in the middle of what was measured."""
ENOUGH = 3
"""Traced updates in which the terms were told apart."""


def check(trace: Trace) -> Iterator[Finding]:
    for found in dominated(trace, SHARE, int(ENOUGH)):
        yield _finding(trace, found)


def _finding(trace: Trace, found: Dominated) -> Finding:
    first, second = wording.term(found.ruler), wording.term(found.second)
    labels = [Label(found.ruler.site, f"{found.share:.1%} of it")] if found.ruler.site is not None else []
    if found.second.site is not None:
        labels.append(Label(found.second.site, f"{found.second_share:.1%} of it"))
    return Finding(
        CODE,
        NAME,
        "note",
        f"`{first}` makes {found.share:.1%} of the gradient that {found.module} gets, `{second}` "
        f"{found.second_share:.1%} (median of {found.measured} traced updates)",
        found.backward.site,
        f"{found.module} learns from `{first}` almost alone",
        labels,
        "both terms train it, and one gradient is far larger than the other.",
        f"shares of the sum of the terms' gradient norms on {found.module}, in {found.measured} traced updates",
        f"scale what `{first}` is made of (returns, targets) or its coefficient, or let each have a network of its own",
        parameters=trace.names(found.numbers),
        evidence={"share": found.share, "second": found.second_share, "measured": found.measured},
    )
