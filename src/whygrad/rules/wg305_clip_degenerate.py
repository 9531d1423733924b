"""Clipping with a limit that leaves nothing of the gradient, or turns it round.

`max_norm=0` multiplies every gradient by zero, a negative limit flips its sign, NaN spreads, and a limit
thousands of times below the usual norm makes every update a tiny step of constant length.

Choose a limit near the gradient norms you see (whygrad prints one below), or drop the clipping.

With an adaptive optimizer (Adam, RMSprop) updates keep their length however small the limit is, because it divides by
the usual size; what is lost then is how much one update counts beside another. That is a warning. A limit that every
traced update exceeds ten times and more is a note: nothing is wrong by itself, but the norms deserve a look.

```python bad
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.0)  # WG305
    optimizer.step()
```

```python good
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 10.0)
    optimizer.step()
```
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from whygrad import wording
from whygrad.finding import Finding
from whygrad.trace import Clip, Trace
from whygrad.trace.spells import Spell, throughout
from whygrad.trace.uses import steps_in_order

CODE = "WG305"
NAME = "clip-degenerate"
OFTEN = 2
LASTING = 4
"""Traced calls in a row, where others leave something."""
SMALLEST_SCALE = 1e-3
HARD = 0.1
"""What is left of a gradient by a clip that is hard, and does not leave almost nothing."""
ALWAYS = 5
"""Traced calls before a hard clip counts as one of every update: the first ones often are."""
TOGETHER = 1.01


def check(trace: Trace) -> Iterator[Finding]:
    sites: dict[object, list[Clip]] = {}
    for clip in trace.clips:
        if clip.how != "hand" and clip.present and clip.size is not None and not clip.scaled:
            sites.setdefault(clip.site, []).append(clip)
    for clips in sites.values():
        scales = [_scale(clip) for clip in clips]
        when = throughout(
            [(_update(trace, c), not s >= SMALLEST_SCALE) for c, s in zip(clips, scales, strict=True)],
            OFTEN,
            int(LASTING),
        )
        if when is not None:
            part = [(c, s) for c, s in zip(clips, scales, strict=True) if when.first <= _update(trace, c) <= when.last]
            yield _finding(trace, [c for c, _ in part], max(s for _, s in part), when)
        elif len(clips) >= ALWAYS and all(scale <= HARD for scale in scales):
            yield _hard(trace, clips)
        else:
            yield from _one_by_one(trace, clips[-1])


def _one_by_one(trace: Trace, clip: Clip) -> Iterator[Finding]:
    """A limit for every variable by itself is none for all of them together."""
    if clip.how != "each" or clip.after is None or clip.after <= clip.limit * TOGETHER:
        return
    count = len(clip.present)
    yield Finding(
        CODE,
        NAME,
        "note",
        f"the limit of {clip.limit:g} holds for each of {count} variables of {wording.whom(trace, clip.present)} by "
        f"itself; together they had a norm of {clip.after:.3g} after clipping (before: {clip.size:.3g})",
        clip.site,
        fix="limit them together if that is what you mean: global_clipnorm, tf.clip_by_global_norm",
        parameters=trace.names(clip.present),
        evidence={"limit": clip.limit, "after": clip.after, "before": clip.size, "variables": count},
    )


def _hard(trace: Trace, clips: list[Clip]) -> Finding:
    clip = clips[-1]
    sizes = sorted(c.size for c in clips if c.size is not None)
    usual, named = sizes[len(sizes) // 2], _named(clip)
    return Finding(
        CODE,
        NAME,
        "note",
        f"each of {len(clips)} traced updates of {wording.whom(trace, clip.present)} is clipped hard: a {named} of "
        f"{sizes[0]:.3g} to {sizes[-1]:.3g} (median {usual:.3g}) is cut to {clip.limit:g}",
        clip.site,
        f"cuts to {clip.limit / usual:.1%} of the size, in the median",
        fix="look at what makes the gradient so large (unscaled returns, a sum instead of a mean), or raise the limit",
        parameters=trace.names(clip.present),
        evidence={
            "limit": clip.limit,
            "smallest": sizes[0],
            "median": usual,
            "largest": sizes[-1],
            "calls": len(clips),
        },
    )


def _scale(clip: Clip) -> float:
    """What the gradient is multiplied by."""
    if not clip.size or not math.isfinite(clip.size):
        return math.nan if math.isnan(clip.limit) else 1.0 if clip.limit > 0 else clip.limit
    if clip.how == "each" and clip.after is not None:
        return clip.after / clip.size  # The limit is one variable's, the size that of all.
    return clip.limit / clip.size


def _update(trace: Trace, clip: Clip) -> int:
    step = steps_in_order(trace).after(clip.order)
    return step.update if step is not None else trace.updates


def _finding(trace: Trace, clips: list[Clip], scale: float, when: Spell) -> Finding:
    clip = clips[-1]
    who = wording.whom(trace, clip.present)
    adaptive = clip.limit > 0 and _adaptive(trace, clip)
    what, why = _effect(clip, scale, adaptive)
    sizes = sorted(c.size for c in clips if c.size is not None)
    usual = sizes[len(sizes) // 2]
    named = _named(clip)
    return Finding(
        CODE,
        NAME,
        "warning" if adaptive else "error",
        f"{who} {wording.verb(trace, clip.present, 'gets', 'get')} {what}: the clipping limit is {clip.limit:g}",
        clip.site,
        f"the gradients have a {named} of about {usual:.3g} here",
        [],
        why,
        f"all {len(clips)} traced calls{_meant(when)}; median {named} before the clip {usual:.3g}, "
        f"limit {clip.limit:g}",
        f"raise the limit to the order of {usual:.1g}, or remove the clipping",
        parameters=trace.names(clip.present),
        evidence={"limit": clip.limit, "median_size": usual, "calls": len(clips)} | when.evidence,
    )


def _meant(when: Spell) -> str:
    """Which ones, where it is not so all the time."""
    said = wording.dated(when)
    return f" of a part of the run ({said})" if said else ""


def _named(clip: Clip) -> str:
    """What the limit is compared with."""
    return "norm" if clip.how == "norm" else "largest entry"


def _adaptive(trace: Trace, clip: Clip) -> bool:
    """Whether every optimizer that steps these divides by their usual size."""
    holders = [o for n in clip.present for o in trace.holders.get(n, [])]
    return bool(holders) and all(o.adaptive for o in holders)


def _effect(clip: Clip, scale: float, adaptive: bool) -> tuple[str, str]:
    if math.isnan(clip.limit):
        return "NaN gradients", "every gradient is multiplied by NaN."
    if clip.limit < 0:
        return "gradients of the wrong sign", "a negative limit multiplies every gradient by a negative number."
    if clip.limit == 0:
        return "no gradient", "every gradient is multiplied by exactly zero; an adaptive optimizer may still drift."
    scaled = f"every gradient is scaled down to {scale:.1e} of its size or less"
    if adaptive:
        return (
            "gradients that are all cut to one length",
            f"{scaled}. The optimizer divides by their usual size, so weights still move; how much one update counts "
            "beside another is lost.",
        )
    return "almost no gradient", f"{scaled}."
