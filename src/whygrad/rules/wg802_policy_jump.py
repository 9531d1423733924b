"""The policy moves much further per batch than its clipping promises.

PPO's clip bounds what a sample gains, not how far the policy goes: with a high learning rate or many epochs the new
policy ends far from the one that collected the data, and the advantages no longer apply.

A clip whose range is wider than any ratio limits nothing at all.

Lower the learning rate or the number of epochs, stop the epochs when the approximate KL passes about 0.02, or
normalise the advantages.

A policy that earns more than before its first jump is left alone.

```python bad
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters(), lr=1.0)
for _ in range(12):
    obs, advantage = torch.randn(32, 4), torch.randn(32)
    with torch.no_grad():
        dist = torch.distributions.Categorical(logits=policy(obs))
        action = dist.sample()
        old = dist.log_prob(action)
    for _ in range(8):
        new = torch.distributions.Categorical(logits=policy(obs)).log_prob(action)
        ratio = torch.exp(new - old)  # WG802
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
```

```python good
import torch

policy = torch.nn.Linear(4, 3)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.001)
for _ in range(12):
    obs, advantage = torch.randn(32, 4), torch.randn(32)
    with torch.no_grad():
        dist = torch.distributions.Categorical(logits=policy(obs))
        action = dist.sample()
        old = dist.log_prob(action)
    for _ in range(8):
        new = torch.distributions.Categorical(logits=policy(obs)).log_prob(action)
        ratio = torch.exp(new - old)
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Backward, Op, Trace
from whygrad.trace.anatomy import formula
from whygrad.trace.earnings import earnings, improved
from whygrad.trace.ratios import Ratio, by_place, ratios, unmasked

CODE = "WG802"
NAME = "policy-jump"
FAR = 0.5
"""Approximate KL divergence of an update. Implementations that stop early do so at 0.01 to 0.05."""
BETTER = 0.5
"""Of the deviation of what was earned before the first jump: a policy that earns so much more by now is left alone. One
that hardly draws at random any more is far from its last one after the smallest step."""
OFTEN = 2
"""Traced evaluations that are this far out: the first epochs of a run may jump once."""


def check(trace: Trace) -> Iterator[Finding]:
    for group in by_place(ratios(trace)):
        clipped = [(r, clip) for r in group if (clip := _clip(trace, r)) is not None]
        whole = [(r, clip) for r, clip in clipped if unmasked(trace.graph, r) is None]  # Padding may be anything.
        known = [(r, clip, r.op.facts.divergence) for r, clip in whole if r.op.facts is not None]
        far = [(r, clip, d) for r, clip, d in known if d is not None and d >= FAR]
        idle = [(r, clip, d) for r, clip, d in far if clip.facts is not None and clip.facts.killed == 0]
        if idle:
            yield _idle(trace, *idle[-1])
        elif len(far) >= OFTEN and not _learned(trace, [r.backward for r in group], [r.backward for r, _, _ in far]):
            yield _finding(trace, far[-1][0], max(d for _, _, d in far), len(far), len(known))


def _learned(trace: Trace, seen: list[Backward], far: list[Backward]) -> bool:
    before = earnings(trace.graph, [backward for backward in seen if backward.update < far[0].update])
    return bool(improved(before, earnings(trace.graph, far), BETTER))


def _clip(trace: Trace, ratio: Ratio) -> Op | None:
    assert ratio.backward.root is not None
    clips = (op for op in formula(trace.graph, ratio.backward.root) if op.name == "clamp")
    return next((op for op in clips if any(i.op == ratio.op.id for i in op.inputs)), None)


def _idle(trace: Trace, ratio: Ratio, clip: Op, divergence: float) -> Finding:
    reach = trace.graph.reach(ratio.new)
    who = wording.whom(trace, reach)
    return Finding(
        CODE,
        NAME,
        "warning",
        f"nothing holds {who} near the old policy: approximate KL {divergence:.2g}, and not one ratio is clipped",
        clip.site,
        "lets every ratio through",
        [Label(ratio.op.site, "new over old probability")] if ratio.op.site is not None else [],
        "the clip's range is so wide that even this far out nothing lies outside it; the advantages of the batch say "
        "nothing about such a policy any more.",
        f"mean of (ratio - 1 - log ratio) is {divergence:.2g} in update {ratio.backward.update}, where the clip "
        "changed none of the ratios",
        "clip to a fraction around one, such as clamp(1 - 0.2, 1 + 0.2)",
        parameters=trace.names(reach),
        evidence={"kl": divergence, "update": ratio.backward.update},
    )


def _finding(trace: Trace, ratio: Ratio, most: float, far: int, seen: int) -> Finding:
    reach = trace.graph.reach(ratio.new)
    who = wording.whom(trace, reach)
    return Finding(
        CODE,
        NAME,
        "warning",
        f"{who} {wording.verb(trace, reach, 'leaves', 'leave')} the old policy far behind within one batch: "
        f"approximate KL {most:.2g}",
        ratio.op.site,
        "new over old probability",
        [],
        "the clip limits what a sample can gain, not how far the policy moves; this far out the advantages of the "
        "batch say nothing any more.",
        f"mean of (ratio - 1 - log ratio) at {FAR} or more in {far} of {seen} traced evaluations",
        "lower the learning rate or the number of epochs, or stop the epochs once the approximate KL passes 0.02",
        parameters=trace.names(reach),
        evidence={"kl": most, "evaluations": seen},
    )
