"""The target, reference or old network is the trained network itself.

Two names stand for one object (`target = net`), or two objects for the same memory (`t.data = p.data`, or a
`state_dict()` that was put aside: it holds the weights themselves), so every step moves both. The target
follows its own prediction, the KL to the reference is exactly zero, the ratio to the old policy exactly one.

Make a copy: `copy.deepcopy(net)`, or build the network again and load the state dict; clone what `state_dict()`
holds.

```python bad
import torch

q_net = torch.nn.Linear(4, 2)
target_net = q_net  # WG307
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(4):
    obs, next_obs, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    with torch.no_grad():
        target = reward + 0.99 * target_net(next_obs).max(1).values
    loss = torch.nn.functional.mse_loss(q_net(obs)[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import copy
import torch

q_net = torch.nn.Linear(4, 2)
target_net = copy.deepcopy(q_net)
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for step in range(4):
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

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.source import expressions
from whygrad.source.storing import entered
from whygrad.trace import Alias, Site, Trace
from whygrad.trace.snapshots import Snapshot, snapshots

CODE = "WG307"
NAME = "aliased-networks"


def check(trace: Trace) -> Iterator[Finding]:
    said: set[int] = set()
    for alias in sorted(trace.aliases, key=lambda a: (not a.whole, len(a.names[0]))):
        moved = {n for n in alias.parameters if trace.parameter(n).consumed}
        if moved and trace.roles.get(alias.names[0]) is None and not moved & said:
            said |= moved
            yield _finding(trace, alias, moved)
    shared = {
        p.id: p.same_memory
        for p in trace.parameters
        if p.used and p.id not in trace.holders and any(trace.parameter(n).consumed for n in p.same_memory)
    }
    if shared:
        yield _same_memory(trace, shared)
    for snapshot in snapshots(trace):
        if "state_dict" in expressions.text(snapshot.taken):
            yield _live(trace, snapshot)


def _finding(trace: Trace, alias: Alias, moved: set[int]) -> Finding:
    apart, plain = (name.removeprefix("self.") for name in alias.names)
    site = entered(trace.files, apart)
    part = "" if alias.whole else f"{wording.plural(len(moved), 'parameter')} of "
    return Finding(
        CODE,
        NAME,
        "error",
        f"{part}{apart} {'is' if alias.whole else 'are'} {plain} itself: every step moves both",
        site,
        "gets the trained network, not a copy" if alias.whole else "shares a part with the trained network",
        _stepping(trace, moved),
        "both names lead to the same parameters, so what should stand still or lag behind is always up to date.",
        f"{wording.plural(len(moved), 'parameter')} of {wording.whom(trace, moved)} under both names, moved by a step",
        "use copy.deepcopy(...), or build it separately and load the state dict",
        parameters=trace.names(moved),
        evidence={"names": list(alias.names), "whole": alias.whole},
    )


def _same_memory(trace: Trace, shared: dict[int, tuple[int, ...]]) -> Finding:
    who = wording.whom(trace, shared)
    twins = {n for numbers in shared.values() for n in numbers}
    copy = next((c for c in reversed(trace.copies) if c.into & set(shared)), None)
    site = copy.site if copy is not None else trace.parameter(min(shared)).created
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, shared, 'lives', 'live')} in the memory of {wording.whom(trace, twins)}: every "
        "step moves both",
        site,
        "shares the memory instead of copying the values",
        _stepping(trace, twins),
        "assigning .data (or loading with assign=True) hands over the storage itself; from then on there is one set of "
        "values.",
        f"{wording.plural(len(shared), 'parameter')} at the same address as trained ones",
        "copy the values: t.data.copy_(p.data), or load_state_dict()",
        parameters=trace.names(shared),
        evidence={"parameters": len(shared)},
    )


def _live(trace: Trace, snapshot: Snapshot) -> Finding:
    who = wording.whom(trace, snapshot.parameters)
    labels = _stepping(trace, snapshot.parameters)
    if snapshot.used.site is not None:
        labels.insert(0, Label(snapshot.used.site, "uses it as the earlier weights"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"the weights put aside are those of {who} itself: every step moves both",
        snapshot.taken,
        "hands out the trained weights, not a copy",
        labels,
        "the dictionary refers to the parameters' own memory, so what should stand still is always up to date.",
        f"{wording.plural(len(snapshot.parameters), 'parameter')} of {who} read, moved by a step and used after it",
        "copy the values: {name: value.clone() for name, value in network.state_dict().items()}",
        parameters=trace.names(snapshot.parameters),
        evidence={"parameters": len(snapshot.parameters)},
    )


def _stepping(trace: Trace, moved: set[int]) -> list[Label]:
    step = next((s for s in reversed(trace.steps) if moved.intersection(s.consumed)), None)
    site: Site | None = step.site if step is not None else None
    return [Label(site, "moves it")] if site is not None else []
