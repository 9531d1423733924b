"""The optimizer steps parameters that were replaced; the new ones collect gradient unused.

An optimizer keeps the tensors it was given. Rebuilding a module, deep-copying it, unpickling it,
flattening or wrapping its weights makes new tensors that the optimizer has never heard of.

Build the optimizer after the last replacement, or load values into the old tensors
(`load_state_dict`) instead of replacing them.

```python bad
import torch

net = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters())
net = torch.nn.Linear(4, 2)  # WG110
for _ in range(3):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

net = torch.nn.Linear(4, 2)
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters())
for _ in range(3):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.source import expressions
from whygrad.source.storing import assigned
from whygrad.trace import Optimizer, Site, Trace
from whygrad.trace.membership import Stale, stale

CODE = "WG110"
NAME = "stale-optimizer"


def check(trace: Trace) -> Iterator[Finding]:
    for found in stale(trace):
        yield _finding(trace, found)


def _finding(trace: Trace, found: Stale) -> Finding:
    who = wording.whom(trace, found.new)
    replaced = _replacement(trace, found)
    built = found.optimizer.site
    labels = []
    if replaced is not None and built is not None:
        labels.append(Label(built, f"{found.optimizer.name} was built from the old parameters"))
    if found.backward.site is not None:
        labels.append(Label(found.backward.site, f"deposits on {len(found.new)} new parameters that nobody steps"))
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, found.new, 'is', 'are')} not learning; {found.optimizer.name} still steps the "
        f"{wording.plural(len(found.old), 'parameter')} it replaced",
        replaced or built,
        "the parameters are replaced here" if replaced else f"{found.optimizer.name} holds parameters no forward uses",
        labels,
        "an optimizer keeps the tensors it was given; new tensors under the same name are strangers to it.",
        f"{wording.plural(len(found.old), 'held parameter')} without gradient, {len(found.new)} new with gradient in "
        "no optimizer",
        f"build {found.optimizer.name} after the replacement, or load_state_dict into the old module",
        parameters=trace.names(found.new),
        evidence={"optimizer": found.optimizer.name, "old": len(found.old), "new": len(found.new)},
    )


def _replacement(trace: Trace, found: Stale) -> Site | None:
    """The statement that bound new parameters to the name the optimizer took its own from."""
    parameter = trace.parameter(min(found.new))
    if parameter.replaced is not None:
        return parameter.replaced
    sources = [name.split(".")[-1] for name in expressions.parameter_sources(found.optimizer.site)]
    attributes = {*sources, *parameter.name.split(".")[:-1]}
    before = trace.parameter(min(found.old)).creation_stack
    for depth, site in enumerate(parameter.creation_stack):
        twice = any(old.function == site.function and old.line != site.line for old in before)
        twice = twice or _beside(found.optimizer, parameter.creation_stack[depth:])
        building = site.function.endswith("__init__") and not twice  # It only makes; whoever called it replaces.
        if not building and _binds(site, attributes, found.optimizer):
            return site
    handed = [assigned(trace.files, name) for name in sources]
    return next((s for s in handed if s is not None and not isinstance(expressions.at(s), ast.Call)), None)


def _beside(optimizer: Optimizer, stack: tuple[Site, ...]) -> bool:
    """Whether the optimizer was built on another line of the same call."""
    here, outer = stack[0], [site.line for site in stack[1:]]
    other = (n for n, site in enumerate(optimizer.stack) if site.function == here.function and site.line != here.line)
    return any(outer == [site.line for site in optimizer.stack[n + 1 :]] for n in other)


def _binds(site: Site, names: set[str], optimizer: Optimizer) -> bool:
    """Whether it assigns to such an attribute, or to such a variable of a function that led to the optimizer."""
    targets = [target for target in expressions.targets(site) if target.split(".")[-1] in names]
    own = any(site.function == outer.function for outer in optimizer.stack)
    return any(own or "." in target for target in targets)
