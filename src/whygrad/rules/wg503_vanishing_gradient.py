"""The gradient fades on its way down a deep network.

Each layer multiplies it by less than one: sigmoids, small initial weights, many layers without normalisation or
shortcuts. The layers next to the input then learn thousands of times slower than the last one.

Use ReLU-like activations, an initialisation that fits them, normalisation or residual connections.

```python bad
import torch

layers = [layer for _ in range(12) for layer in (torch.nn.Linear(8, 8), torch.nn.Sigmoid())]
q_net = torch.nn.Sequential(*layers, torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(30):
    obs, target = torch.randn(8, 8), torch.randn(8)
    value = q_net(obs).squeeze(-1)  # WG503
    loss = (value - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

layers = [layer for _ in range(3) for layer in (torch.nn.Linear(8, 8), torch.nn.ReLU())]
q_net = torch.nn.Sequential(*layers, torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(q_net.parameters(), lr=0.01)
for _ in range(30):
    obs, target = torch.randn(8, 8), torch.randn(8)
    value = q_net(obs).squeeze(-1)
    loss = (value - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Backward, Op, Trace
from whygrad.trace.magnitudes import Layer, depth
from whygrad.trace.spells import Spell, throughout

CODE = "WG503"
NAME = "vanishing-gradient"
FADED = 1e-5
"""Largest gradient of the first layer over that of the last one. A factor of a hundred is common and harmless."""
DEEP = 4
"""Layers from which one may speak of depth."""
OFTEN = 3
"""Traced backwards, all of which must fade: a single one may do so by chance."""
LASTING = 5
"""In a row, where it fades in a part of the run only."""


def check(trace: Trace) -> Iterator[Finding]:
    groups: dict[object, list[tuple[Backward, list[Layer]]]] = {}
    for backward in trace.rooted:
        if backward.largest and backward.how == "backward":
            groups.setdefault((backward.site, backward.library), []).append((backward, depth(trace, backward)))
    for group in groups.values():
        looks = [(backward.update + 1, _fades(layers)) for backward, layers in group]
        when = throughout(looks, OFTEN, int(LASTING))
        if when is not None:
            faded = [(b, layers) for b, layers in group if when.first <= b.update + 1 <= when.last]
            found = _finding(trace, *faded[-1], len(faded), when)
            late = when.over or when.before is not None  # Depth fades from the start; what fades later has arrived.
            yield wording.past(found, when) if late else found


def _fades(layers: list[Layer]) -> bool:
    if len(layers) < DEEP:
        return False
    first, last = layers[0].size, layers[-1].size
    falling = sum(a.size < b.size for a, b in pairwise(layers))
    return 0.0 < first < FADED * last and falling >= 0.7 * (len(layers) - 1)


def _finding(trace: Trace, backward: Backward, layers: list[Layer], times: int, when: Spell) -> Finding:
    starved = [layer for layer in layers if layer.size < 1e-2 * layers[-1].size]
    numbers = frozenset(layer.parameter for layer in starved)
    who, last = wording.whom(trace, numbers), layers[-1]
    op = _forward(trace, backward, layers[0].parameter)
    labels = [Label(backward.site, f"starts with {last.size:.1g} at the last layer")] if backward.site else []
    return Finding(
        CODE,
        NAME,
        "warning",
        f"{who} {wording.verb(trace, numbers, 'learns', 'learn')} next to nothing: the gradient fades from "
        f"{last.size:.1g} at the last layer to {layers[0].size:.1g} at the first",
        op.site if op is not None else backward.site,
        f"the gradient arrives here {last.size / layers[0].size:.0e} times smaller than at the last layer",
        labels,
        f"over {len(layers)} layers each step back multiplies the gradient by less than one.",
        f"in {times} of {times} traced backwards of {backward.name}{wording.also_dated(when)}",
        "use ReLU-like activations with a matching initialisation, normalisation, or residual connections",
        parameters=trace.names(numbers),
        evidence={"first": layers[0].size, "last": last.size, "layers": len(layers)},
    )


def _forward(trace: Trace, backward: Backward, parameter: int) -> Op | None:
    """Where the layer that starves is applied."""
    assert backward.root is not None
    for op in trace.graph.carrying(backward.root):
        if op.layer and any(found.parameter == parameter for _, found in trace.graph.operands(op)):
            return op
    return None
