"""Gradient clipping runs where it has no effect on the step.

Before the backward there is nothing to clip (or what an earlier update left); after the step it is too late,
also when it is a hook of backward that steps; before `scaler.unscale_()` the limit is compared with gradients
that are thousands of times too large; clipping one network does not limit the step of another; and after each of
several backwards that one step sums, it cuts the first micro-batches down again and again.

Clip between the last `backward()` (and `unscale_()`) and `step()`, the parameters that are stepped.

```python bad
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)  # WG304
```

```python good
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(8, 4)) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set

from whygrad import wording
from whygrad.finding import Finding, Label
from whygrad.trace import Clip, Step, Trace
from whygrad.trace.membership import stale
from whygrad.trace.partial import partly_clipped
from whygrad.trace.spells import Spell, throughout
from whygrad.trace.uses import steps_in_order

CODE = "WG304"
NAME = "clip-misplaced"
OFTEN = 2
LASTING = 4
"""Updates in a row without effect, where other updates are clipped."""
LIMITING = ("clamp", "clip", "foreach_clamp_min", "foreach_clamp_max")
"""Changes of gradients by hand that limit them; a scaling may be meant for whoever reads them."""
WHY = {
    "before-backward": (
        "runs before the backward: what it clips is not what the step applies",
        "the gradients of this update are deposited after the clip, so they reach the step unclipped.",
    ),
    "after-step": (
        "runs after the step: the update has been applied unclipped",
        "the step has used the gradients already, and they are cleared before the next one.",
    ),
    "before-unscale": (
        "clips gradients that are still multiplied by the loss scale",
        "the limit is compared with scaled gradients, thousands of times too large, so nearly every update is cut "
        "down to almost nothing once the scaler divides.",
    ),
    "other-parameters": (
        "clips parameters that the next step does not touch",
        "the step that follows applies other parameters' gradients, and those are not clipped.",
    ),
}


def check(trace: Trace) -> Iterator[Finding]:
    sites: dict[object, list[Clip]] = {}
    for clip in trace.clips:
        limits = clip.how != "hand" or clip.operation.strip("_") in LIMITING
        if limits and not clip.exhausted and clip.limit != float("inf"):
            sites.setdefault(clip.site, []).append(clip)
    for clips in sites.values():
        judged = [(clip, verdict) for clip in clips if (verdict := _judge(trace, clip)) is not None]
        wrong = [(clip, verdict) for clip, verdict in judged if verdict != "effective"]
        if len(judged) >= OFTEN and len(wrong) == len(judged):
            yield _finding(trace, clips[-1], _usual(wrong), len(judged))
        elif wrong:
            partial = partly_clipped(trace, clips)
            others = list(_others(trace, clips)) if len(partial) < OFTEN else [_partial(trace, partial)]
            yield from others or _for_a_while(trace, judged)


Judged = list[tuple[Clip, str]]


def _usual(wrong: Judged) -> str:
    return Counter(verdict for _, verdict in wrong).most_common(1)[0][0]


def _for_a_while(trace: Trace, judged: Judged) -> Iterator[Finding]:
    """An order of calls that changes in the middle of the run."""
    updates: dict[int, Judged] = {}
    for clip, verdict in judged:
        step = steps_in_order(trace).after(clip.order)
        updates.setdefault(step.update if step is not None else trace.updates, []).append((clip, verdict))
    looks = [(update, all(verdict != "effective" for _, verdict in calls)) for update, calls in updates.items()]
    when = throughout(looks, OFTEN, int(LASTING))
    if when is not None:
        wrong = [call for update, calls in updates.items() if when.first <= update <= when.last for call in calls]
        yield _finding(trace, wrong[-1][0], _usual(wrong), len(wrong), when=when)


def _judge(trace: Trace, clip: Clip) -> str | None:
    """What becomes of the clipped gradients; None while that is not known."""
    if clip.scaled:
        return "before-unscale"
    following = [s for s in trace.steps if s.order > clip.order]
    if _carried(trace, clip, following):
        return "effective"
    step = next((s for s in following if clip.parameters.intersection(_held(trace, s))), None)
    if step is None:
        replaced = any(clip.parameters & case.new for case in stale(trace))  # The optimizer is wrong, not the clip.
        return None if not following or not clip.parameters or replaced else _unstepped(trace, following[0])
    between = [
        b for b in trace.backwards if clip.order < b.order < step.order and b.deposits.intersection(clip.parameters)
    ]
    cleared = [
        c for c in trace.clears if clip.order < c.order < step.order and c.parameters.intersection(clip.parameters)
    ]
    if not between and not cleared and clip.present:
        known = step.assigned or any(step.consumed.get(n) for n in clip.parameters)
        return "effective" if known else None  # Nobody looked in between.
    earlier = [s for s in trace.steps if s.order < clip.order and clip.parameters.intersection(_held(trace, s))]
    if cleared and clip.present:
        other = following[0] is not step and not _applied(trace, clip, earlier)
        return "other-parameters" if other else "after-step"
    if between and not (step.inside and not clip.present):
        return "before-backward" if not clip.present or not _applied(trace, clip, earlier) else "after-step"
    # Nothing is there to be clipped, and a step has been at it already: one inside the backward, say.
    return "after-step" if not clip.present and _used_up(trace, clip, earlier) else None


def _used_up(trace: Trace, clip: Clip, earlier: list[Step]) -> bool:
    """Since the call before this one a loss has left gradients, and a step has applied them.

    Else there were none to begin with: the parameters are frozen by now, or cut off from the loss.
    """
    before = trace.once("clips before", lambda: _before(trace))[clip.order]
    left = [b.order for b in trace.backwards if before < b.order < clip.order and b.deposits & clip.parameters]
    return bool(left) and any(s.order > left[-1] or s.inside for s in earlier if s.consumed.keys() & clip.parameters)


def _before(trace: Trace) -> dict[int, int]:
    """By the order of a clip, that of the call before it on the same line."""
    latest: dict[object, int] = {}
    found: dict[int, int] = {}
    for clip in trace.clips:
        found[clip.order] = latest.get(clip.site, -1)
        latest[clip.site] = clip.order
    return found


def _others(trace: Trace, clips: list[Clip]) -> Iterator[Finding]:
    """A line that clips in time for one optimizer, and the same parameters again before the step of another."""
    limited = {n for c in trace.clips for n in c.present}
    idle: dict[int, list[Clip]] = {}
    for clip in clips:
        step = next((s for s in trace.steps if s.order > clip.order), None)
        earlier = [s for s in trace.steps if s.order < clip.order and clip.parameters.intersection(_held(trace, s))]
        if step is None or limited.intersection(_held(trace, step)) or not step.consumed:
            continue
        if not clip.present or _applied(trace, clip, earlier):
            idle.setdefault(step.optimizer, []).append(clip)
    often = [found for found in idle.values() if len(found) >= OFTEN]
    if often:
        stepped = {n for i, found in idle.items() if len(found) >= OFTEN for n in trace.optimizers[i].parameters}
        yield _finding(trace, often[0][-1], "other-parameters", sum(map(len, often)), stepped)


def _partial(trace: Trace, found: list[tuple[Step, list[Clip]]]) -> Finding:
    step, clips = found[-1]
    stepped = clips[-1].present & frozenset(_held(trace, step))
    return Finding(
        CODE,
        NAME,
        "error",
        f"the update of {wording.whom(trace, stepped)} is not the clipped sum of its {len(clips)} backwards: "
        "the earlier a micro-batch comes, the more often it is scaled down",
        clips[-1].site,
        "clips what has been summed so far, after each backward",
        [Label(step.site, f"applies what {len(clips)} clips have left")] if step.site is not None else [],
        "the limit is meant for the gradient of the whole step; on partial sums it weighs the micro-batches by order.",
        f"{len(clips)} calls per step, some of which cut, in {wording.plural(len(found), 'traced step')}",
        "clip once, right before step()",
        parameters=trace.names(stepped),
        evidence={"verdict": "partial-sums", "limit": clips[-1].limit, "calls": len(clips)},
    )


def _carried(trace: Trace, clip: Clip, following: list[Step]) -> bool:
    """Whether the clipped gradients are handed by assignment to the parameters that the next step moves."""
    if not following or not following[0].assigned:
        return False
    deposited = {b.id for b in trace.backwards if b.order < clip.order and b.deposits & clip.parameters}
    return any(deposited.intersection(following[0].consumed.get(n, ())) for n in following[0].assigned)


def _unstepped(trace: Trace, following: Step) -> str | None:
    """Nobody steps these parameters (a target network, say) while the step right after it does without."""
    limited = {n for c in trace.clips for n in c.present}
    return "other-parameters" if not limited.intersection(following.consumed) else None


def _applied(trace: Trace, clip: Clip, earlier: list[Step]) -> bool:
    """Whether a step had consumed these gradients before the clip."""
    if not earlier:
        return False
    deposits = [b.order for b in trace.backwards if b.order < clip.order and b.deposits & clip.parameters]
    return not deposits or earlier[-1].order > deposits[-1]


def _held(trace: Trace, step: Step) -> tuple[int, ...]:
    return trace.optimizers[step.optimizer].parameters


def _finding(
    trace: Trace, clip: Clip, verdict: str, times: int, stepped: Set[int] | None = None, when: Spell | None = None
) -> Finding:
    here, why = WHY[verdict]
    step = next((s for s in reversed(trace.steps) if clip.parameters.intersection(_held(trace, s))), None)
    if verdict == "other-parameters":
        step = next((s for s in trace.steps if s.order > clip.order), step)
    if stepped is None and verdict == "after-step":
        stepped = clip.parameters & trace.holders.keys()
    stepped = stepped or (set(_held(trace, step)) if step is not None else clip.parameters)
    who = wording.whom(trace, stepped)
    labels = [Label(step.site, "applied without a limit")] if step is not None and step.site is not None else []
    return Finding(
        CODE,
        NAME,
        "error",
        f"the updates of {who} are not clipped: the limit of {abs(clip.limit):g} has no effect on them",
        clip.site,
        here,
        labels,
        why,
        f"{wording.plural(times, 'traced call')} had no effect on a step{wording.also_dated(when)}",
        {
            "before-unscale": "call scaler.unscale_(optimizer) before clipping",
            "other-parameters": "clip the parameters of the optimizer that steps next",
        }.get(verdict, "move the clip between backward() and step()"),
        parameters=trace.names(stepped),
        evidence={"verdict": verdict, "limit": clip.limit, "calls": times} | (when.evidence if when else {}),
    )
