"""The first operation that gave NaN or Inf.

NaN spreads: one in the loss makes every gradient NaN, and one step later every weight. The place where it is
noticed (a sampler that raises, a printed loss) is rarely the place where it was made.

Keep the argument of this operation inside its range: a divisor above zero, an exponent below about 80, a square
root above zero where its gradient is used.

```python bad
import torch

critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
for _ in range(4):
    obs, returns = torch.randn(8, 4), torch.ones(8)
    scaled = (returns - returns.mean()) / returns.std()  # WG505
    loss = (critic(obs).squeeze(-1) - scaled).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

```python good
import torch

critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
for _ in range(4):
    obs, returns = torch.randn(8, 4), torch.ones(8)
    scaled = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = (critic(obs).squeeze(-1) - scaled).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import poisoning, wording
from whygrad.finding import Finding, Label
from whygrad.trace import Backward, Trace
from whygrad.trace.magnitudes import exploded
from whygrad.trace.nonfinite import origins, poisoned, suspects

CODE = "WG505"
NAME = "non-finite"
FIXES = {
    "div": "add a small number to the divisor, or skip the case where it is zero",
    "exp": "bound the exponent (clamp) before exp",
    "sqrt": "add a small number under the root: its derivative at zero is infinite",
    "mul": "zero times infinity is NaN: choose with torch.where before the infinite value is made",
}
CONSTANT = (
    "a constant of the loss was not finite already when the loss was computed: it is made here, by operations with "
    "no finite result for some batches (the spread of a single sample, a division by zero)."
)


def check(trace: Trace) -> Iterator[Finding]:
    growing = exploded(trace)
    for origin in origins(trace):
        if origin.kind == "other" and origin.backward.site not in growing:
            name = origin.op.name
            fix = next((text for key, text in FIXES.items() if key in name), "keep its operands inside the valid range")
            why = CONSTANT if origin.constant else _why(origin.special, name)
            yield poisoning.finding(trace, origin, CODE, NAME, why, fix)
    unseen = poisoned(trace)
    if unseen is not None and unseen.site not in growing:
        yield _unseen(trace, unseen)


def _unseen(trace: Trace, backward: Backward) -> Finding:
    """The weights are not finite, and it began while nothing was traced."""
    ruined = frozenset(
        p.id for p in trace.parameters if p.consumed and (not backward.deposits or p.id in backward.deposits)
    )
    who = wording.whom(trace, ruined)
    edged = suspects(trace, backward)
    alone = edged[0] if len(edged) == 1 else None
    labels = [Label(backward.site, "the loss is not finite any more")] if alone and backward.site else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {wording.verb(trace, ruined, 'has', 'have')} become NaN or infinite by update {backward.update + 1}",
        alone.site if alone is not None else backward.site,
        f"the one suspect: {alone.name} has no finite derivative at its edge"
        if alone
        else "the loss is not finite any more",
        labels,
        "it began while nothing was traced, between two looks; one NaN in a gradient is enough to ruin every weight.",
        f"the loss is not finite from update {backward.update + 1} on, or earlier",
        "run again with --trace always to have the operation named that gave the first NaN",
        parameters=trace.names(ruined),
        evidence={"update": backward.update + 1},
    )


def _why(special: str, name: str) -> str:
    if special == "gradient":
        return f"the loss itself is finite, but the derivative of {name} is not for some of these values."
    if name in ("input", "tensor", "as_tensor", "from_numpy"):
        return "the value came in from outside like this."
    return f"the operands were finite, the result of {name} is not; everything that follows inherits it."
