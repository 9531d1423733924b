"""A target network stays at its first values while the online network trains.

The copy is never made, copies the network onto itself, blends with a share of zero, or takes its values from the wrong
place. The online network is then fitted to the values of a random network, plus one reward. A copy that is made for a
part of the run only leaves it with the values of that time: a warning.

Copy the online network into the target every so many updates, or a little at each (Polyak).

```python bad
import copy
import torch

q_net = torch.nn.Linear(4, 2)
target_net = copy.deepcopy(q_net)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(40):
    obs, next_obs, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    with torch.no_grad():
        target = reward + 0.99 * target_net(next_obs).max(1).values
    loss = torch.nn.functional.mse_loss(q_net(obs)[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    target_net.load_state_dict(target_net.state_dict())  # WG308
```

```python good
import copy
import torch

q_net = torch.nn.Linear(4, 2)
target_net = copy.deepcopy(q_net)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(40):
    obs, next_obs, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    with torch.no_grad():
        target = reward + 0.99 * target_net(next_obs).max(1).values
    loss = torch.nn.functional.mse_loss(q_net(obs)[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    target_net.load_state_dict(q_net.state_dict())
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from whygrad import leaking, wording
from whygrad.finding import Finding, Label
from whygrad.idling import thrown_away
from whygrad.source.refreshing import refreshes
from whygrad.source.unloading import unloaded
from whygrad.trace import Copy, Trace
from whygrad.trace.refreshing import Lagging, lagging

CODE = "WG308"
NAME = "target-never-updated"
LONG = 250
"""Updates without the scheduled copy before it counts as missing, where the source does not tell its period."""


def check(trace: Trace) -> Iterator[Finding]:
    if any(found.how == "result" for found in thrown_away(trace)):
        return  # The update is there and has no effect: WG208 names it.
    for case in _together(trace):
        if trace.roles.get(wording.whom(trace, case.parameters)) != "reference":
            yield from _finding(trace, case) if case.ceased is None else [_over(trace, case, case.ceased)]


def _together(trace: Trace) -> list[Lagging]:
    """Twins enter a target on one line: one finding for both."""
    found: dict[object, Lagging] = {}
    for case in lagging(trace):
        key = (leaking.outside(trace, case.forward), case.copy.site if case.copy is not None else None)
        known = found.get(key)
        if known is not None:
            both = known.parameters | case.parameters
            case = replace(known, parameters=both, follows=known.follows | case.follows)
        found[key] = case
    return list(found.values())


def _finding(trace: Trace, case: Lagging) -> Iterator[Finding]:
    who = wording.whom(trace, case.parameters)
    online = wording.whom(trace, case.error.predicts(trace.graph))
    source = wording.whom(trace, case.follows)
    forward = leaking.outside(trace, case.forward)
    name = who.split(" ")[0].rsplit(".", 1)[-1]
    labels = []
    still = min(trace.parameter(n).still for n in case.parameters)
    waiting = None
    message = (
        f"{who} never {wording.verb(trace, case.parameters, 'changes', 'change')}: {online} is fitted to the values "
        f"{wording.verb(trace, case.parameters, 'it', 'they')} began with"
    )
    seen = f"unchanged through {still} of {trace.updates} updates (relative tolerance 1e-5), while {online} is stepped"
    if not still:
        message = f"{who} never follows {source}: every refresh takes its values from {who} itself"
        seen = "in the traced updates it was written from its own values only"
    if case.copy is not None:
        site = case.copy.site
        if forward is not None:
            labels.append(Label(forward, "its values enter the target here"))
        here, why, fix = _vain(case.copy, source)
    elif (lost := next(unloaded(trace.files, name), None)) is not None:
        if forward is not None:
            labels.append(Label(forward, "its values enter the target here"))
        site, here = lost, "changes the dictionary, and no network"
        why = "state_dict() returns a dictionary of its own: a value put into it reaches no network until it is loaded."
        fix = f"give the dictionary to load_state_dict() of {who}"
    else:
        site, here = forward, "enters the target, and nothing ever refreshes it"
        waiting = refreshes(trace.files, name)
        why = "no statement that copies values into it has run since training began."
        if waiting is not None and any(trace.parameter(n).rewritten for n in case.parameters):
            if forward is not None:
                labels.append(Label(forward, "its values enter the target here"))
            site, here, waiting = waiting.site, "leaves it as it was", None
            why = "the copy runs, and what it writes is what was there already."
        elif waiting is not None:
            if not (waiting.overdue(still) or (waiting.period is None and still >= LONG)):
                return  # Its time may not have come.
            labels.append(Label(waiting.site, "did not run, or not since training began"))
        fix = f"copy {source} into {who} every so many updates, or blend a little at each"
    yield Finding(
        CODE,
        NAME,
        "warning" if waiting is not None else "error",
        message,
        site,
        here,
        labels,
        why,
        seen,
        fix,
        parameters=trace.names(case.parameters),
        evidence={"updates": still, "copied": case.copy is not None},
    )


def _vain(copy: Copy, source: str) -> tuple[str, str, str]:
    """What a copy that changes nothing does here, why, and what would help."""
    if copy.itself:
        return (
            "writes its own values back",
            "the copy runs, and what it writes comes from the network itself.",
            f"copy from {source}",
        )
    if copy.blended and copy.sources:
        why = f"the blend runs, and the share that {source} has in it is zero: the values stay as they were."
        return "leaves it as it was", why, f"blend with a share (tau) of {source} above zero, or copy all of it"
    return "leaves it as it was", "the copy runs, and the values stay as they were.", f"copy from {source}"


def _over(trace: Trace, case: Lagging, since: int) -> Finding:
    """It was refreshed for a part of the run."""
    who, source = wording.whom(trace, case.parameters), wording.whom(trace, case.follows)
    does = wording.verb(trace, case.parameters, "does", "do")
    forward = leaking.outside(trace, case.forward)
    copied = case.copy.site if case.copy is not None else None
    labels = [Label(forward, "its values enter the target here")] if copied is not None and forward is not None else []
    seen = [trace.parameter(n).changes for n in case.parameters]
    return Finding(
        CODE,
        NAME,
        "warning",
        f"{who} {does} not follow {source} any more: unchanged since update {since} of {trace.updates}",
        copied or forward,
        "has changed nothing since then" if copied is not None else "enters the target as it was then",
        labels,
        f"{source} is trained on, towards values that stay what they were; up to then, no two refreshes were more than "
        f"{max(found.pause for found in seen)} updates apart.",
        f"unchanged through the last {trace.updates - since} updates, after {max(found.times for found in seen)} looks "
        "that found it changed",
        f"look at the condition of the refresh: it has not become true after update {since}",
        parameters=trace.names(case.parameters),
        evidence={"last_update": since, "updates": trace.updates},
    )
