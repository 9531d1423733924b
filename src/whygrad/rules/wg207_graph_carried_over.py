"""A tensor is kept across updates together with its graph.

A recurrent state, a replay buffer or a running sum that is stored without `detach()` keeps every operation
that made it. Memory grows with each update; and when a later loss uses the tensor, its backward runs into
the earlier update and fails ("a second time"), or silently trains through old weights.

Detach what outlives the update when it is stored; store numbers (`loss.item()`) in logs.

```python bad
import torch

cell = torch.nn.GRUCell(4, 8)
head = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
kept = []
for _ in range(8):
    state = cell(torch.randn(2, 4))
    kept.append(state)  # WG207
    loss = (head(state) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

cell = torch.nn.GRUCell(4, 8)
head = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
kept = []
for _ in range(8):
    state = cell(torch.randn(2, 4))
    kept.append(state.detach())
    loss = (head(state) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.source import expressions
from whygrad.source.storing import stored
from whygrad.trace import Kept, Site, Trace
from whygrad.trace.carrying import Carried, carried

CODE = "WG207"
NAME = "graph-carried-over"
LONG = 12
"""Updates through which kept tensors must live on, unless the run is shorter."""
MOST_OF_RUN = 0.6


def check(trace: Trace) -> Iterator[Finding]:
    found: dict[object, Finding] = {}
    for case in carried(trace):
        finding = _reused(trace, case)
        found.setdefault(_place(finding.site), finding)
    for kept in trace.kept:
        if not found and (kept.chained or kept.survived >= min(LONG, MOST_OF_RUN * trace.updates)):
            finding = _grows(trace, kept)
            found.setdefault(_place(finding.site), finding)
    yield from list(found.values())[:1]  # One stored object leads to many tensors and many lines.


def _place(site: Site | None) -> object:
    return (site.file, site.line) if site is not None else None


def _reused(trace: Trace, case: Carried) -> Finding:
    name = trace.variables.get(case.op.id, ("", ""))[0]
    site = _storing(trace, name, case.op.site)
    what = f"`{name.split('[')[0].removeprefix('self.')}`" if name else wording.code(case.op.site)
    raised = trace.raised is not None and trace.raised.backward == case.backward.id
    labels = []
    if case.user.site is not None and case.user.site != site:
        labels.append(Label(case.user.site, "the next update goes on from it"))
    if case.backward.site is not None:
        labels.append(
            Label(case.backward.site, "runs back into the update before" + ("; raised here" if raised else ""))
        )
    return Finding(
        CODE,
        NAME,
        "error",
        f"{what} carries its graph from one update into the next" + (_fails(trace) if raised else ""),
        site,
        "kept with its graph",
        labels,
        "what is stored here is still connected to the forward that made it, so the loss of a later update also runs "
        "through the earlier one, whose graph is freed and whose weights have changed.",
        (f"{trace.raised.type}: {trace.raised.message.split('. ')[0]}" if raised and trace.raised is not None else "")
        or f"{case.backward.name} reaches operations from before the last step",
        "detach() it when it is stored",
        "retain_graph=True: it hides that weights changed in between and lets the graph grow",
        evidence={"holder": name, "raised": raised},
    )


def _fails(trace: Trace) -> str:
    """A graph that was retained is there, but a step has changed weights that it needs."""
    changed = trace.raised is not None and trace.raised.code == "WG602"
    return "; the second backward fails on it" + (", a step has changed weights behind it" if changed else "")


def _grows(trace: Trace, kept: Kept) -> Finding:
    holder = kept.holder.split("[")[0].removeprefix("self.")
    site = _storing(trace, kept.holder, kept.made)
    labels = [Label(kept.made, "made here, with its graph")] if kept.made is not None and kept.made != site else []
    return Finding(
        CODE,
        NAME,
        "warning",
        f"memory grows: `{holder}` keeps tensors with their whole graph from update to update",
        site,
        "stored with its graph",
        labels,
        "a tensor that has a grad_fn keeps every operation behind it alive; nothing ever runs backward through these.",
        f"{', '.join(map(str, kept.counts[:6]))} {'links back to' if kept.chained else 'tensors of'} earlier updates "
        "at successive steps",
        "store x.detach() (or x.item() in a log), or collect under torch.no_grad()",
        evidence={"holder": kept.holder, "counts": list(kept.counts)},
    )


def _storing(trace: Trace, holder: str, made: Site | None) -> Site | None:
    """The statement that stores under the holder's name, unless the value is made in such a statement itself."""
    name = holder.split("[")[0].rsplit(".", 1)[-1]
    if not name:
        return made
    if made is not None and any(_under(target, name, "." in holder) for target in expressions.targets(made)):
        return made
    order = sorted(trace.files, key=lambda file: made is None or file != made.file)
    return stored(order, holder) or made


def _under(target: str, name: str, attribute: bool) -> bool:
    """Whether a statement stores under the name; what lives on in an attribute is not stored by a local variable."""
    return f".{name}" in target if attribute else name in target
