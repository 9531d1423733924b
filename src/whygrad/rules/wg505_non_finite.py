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
from whygrad.trace import Site, Trace
from whygrad.trace.magnitudes import exploded
from whygrad.trace.nonfinite import Unexplained, origins, spared, suspects, unexplained

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
            name = origin.op.written
            fix = next((text for key, text in FIXES.items() if key in name), "keep its operands inside the valid range")
            why = CONSTANT if origin.constant else _why(origin.special, name)
            yield poisoning.finding(trace, origin, CODE, NAME, why, fix)
    unseen = unexplained(trace)
    if unseen is None or unseen.site in growing:
        return
    if unseen.ruined:
        yield _unseen(trace, unseen)
    elif not trace.scalers:  # A scaled loss may overflow: the scaler skips that step.
        yield _harmless(trace, unseen)


def _unseen(trace: Trace, case: Unexplained) -> Finding:
    """The weights were not finite, and it began while nothing was traced."""
    wrong = frozenset(p.id for p in trace.parameters if p.consumed and (not case.deposits or p.id in case.deposits))
    who = wording.whom(trace, wrong)
    site, here, labels = _place(trace, case)
    over = poisoning.healed(trace)
    have = wording.verb(trace, wrong, "had" if over else "has", "had" if over else "have")
    return Finding(
        CODE,
        NAME,
        "error",
        f"{who} {have} become NaN or infinite by update {case.update + 1}",
        site,
        here,
        labels,
        "it began while nothing was traced, between two looks; one NaN in a gradient is enough to ruin every weight.",
        f"the loss is not finite from update {case.update + 1} on, or earlier{over}",
        "run again with --trace always to have the operation named that gave the first NaN",
        parameters=trace.names(wrong),
        evidence={"update": case.update + 1},
    )


def _place(trace: Trace, case: Unexplained) -> tuple[Site | None, str, list[Label]]:
    """Where to look: at what is known to have failed, at the only suspect, or at the loss."""
    if trace.failure is not None and trace.failure.strange:
        return case.site, f"not finite: a {trace.failure.strange} that no traced loss of this line had", []
    edged = suspects(trace, case.site)
    if len(edged) != 1 or case.site is None:
        return case.site, "the loss is not finite any more", []
    here = f"the one suspect: {edged[0].name} has no finite derivative at its edge"
    return edged[0].site, here, [Label(case.site, "the loss is not finite any more")]


def _harmless(trace: Trace, case: Unexplained) -> Finding:
    """A loss that the script skipped, it seems."""
    failure = trace.failure
    value = {"nan": "NaN", "inf": "infinite"}[failure.special] if failure is not None else "not finite"
    later = failure.times - 1 if failure is not None else 0
    often = f", and {wording.plural(later, 'later one')}" if later else ""
    fine = "; all weights are finite" if spared(trace) else ""
    return Finding(
        CODE,
        NAME,
        "note",
        f"the loss was {value} at update {case.update + 1}{often}{fine}",
        case.site,
        why="a batch with a value that is not finite, or an operation at its edge; no step seems to have used it.",
        fix="trace every update to have the first such value named: --trace always",
        evidence={"update": case.update + 1},
    )


def _why(special: str, name: str) -> str:
    if special == "gradient":
        return f"the loss itself is finite, but the derivative of {name} is not for some of these values."
    if name in ("input", "tensor", "as_tensor", "from_numpy"):
        return "the value came in from outside like this."
    return f"the operands were finite, the result of {name} is not; everything that follows inherits it."
