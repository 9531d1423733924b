"""Which optimizer steps consume which backward, and which parameters none ever trains."""

from __future__ import annotations

from whygrad.trace.ledger import Backward, Optimizer
from whygrad.trace.protocol import starved
from whygrad.trace.refreshing import copied_only
from whygrad.trace.trace import Trace, worked_out_once
from whygrad.trace.uses import backwards_by_site, clears_in_order, steps_by_optimizer, steps_in_order, steps_using

ENOUGH_STEPS = 3
"""Steps before a run that was cut short counts as evidence that a gradient never comes."""


def consumers(trace: Trace, backward: Backward) -> list[Optimizer]:
    """Optimizers whose step used, or would have used, what this backward deposits."""
    used = {step.optimizer for step in steps_using(trace, backward.id)}
    if not used and _waits(trace, backward):
        return []
    if not used:
        used = _next_steps(trace, backward)
    if not used and steps_in_order(trace).after(backward.order) is None and backward.root is not None:
        wanted = trace.graph.depends(backward.root)
        used = {o.id for o in trace.optimizers if wanted.intersection(o.parameters)}
    return [o for o in trace.optimizers if o.id in used]


def _waits(trace: Trace, backward: Backward) -> bool:
    """Whether all that it deposits on is held by optimizers that never step: who steps next has other losses."""
    holders = trace.holders
    return bool(backward.deposits and trace.steps) and all(
        number in holders and not any(o.steps for o in holders[number]) for number in backward.deposits
    )


def _next_steps(trace: Trace, backward: Backward) -> set[int]:
    """Optimizers that step next without clearing first, before this loss comes round again."""
    same = backwards_by_site(trace).get(backward.site)
    following = same.after(backward.order) if same is not None else None
    found: set[int] = set()
    for number, steps in steps_by_optimizer(trace).items():
        step = steps.after(backward.order)
        if step is None or (following is not None and step.order >= following.order):
            continue
        if not _cleared(trace, number, backward.order, step.order):
            found.add(number)
    return found


def _cleared(trace: Trace, optimizer: int, start: int, end: int) -> bool:
    held = next((set(o.parameters) for o in trace.optimizers if o.id == optimizer), set())
    return any(held & clear.parameters for clear in clears_in_order(trace).between(start, end))


@worked_out_once
def trained(trace: Trace) -> frozenset[int]:
    """Parameters that training moves: some step found a gradient, or the script updates them by hand."""
    return frozenset(p.id for p in trace.parameters if p.consumed) | by_hand(trace)


@worked_out_once
def by_hand(trace: Trace) -> frozenset[int]:
    """Parameters outside every optimizer that steps, which are written to after gradient came, and not from others.

    What `module.to(device)` writes comes before."""
    deposited: dict[int, int] = {}
    for backward in trace.backwards:
        for number in backward.deposits:
            deposited.setdefault(number, backward.order)
    written = {n for c in trace.copies for n in c.into if c.order > deposited.get(n, c.order)}
    copied = {n for c in trace.copies if c.sources for n in c.into}
    stepped = {n for optimizer in trace.optimizers if optimizer.steps for n in optimizer.parameters}
    return frozenset(written - copied - stepped) | _natural(trace)


@worked_out_once
def _natural(trace: Trace) -> frozenset[int]:
    """Differentiated by `autograd.grad` and then written to: a natural gradient, a line search."""
    written: dict[int, int] = {}
    for copy in trace.copies:
        for number in copy.into if not copy.sources else ():
            written[number] = max(copy.order, written.get(number, copy.order))
    out: set[int] = set()
    for backward in trace.rooted if written else ():
        if backward.how == "grad" and backward.root is not None:
            reached = trace.graph.reach(backward.root)
            out.update(n for n, order in written.items() if order > backward.order and n in reached)
    return frozenset(out)


@worked_out_once
def missing(trace: Trace) -> frozenset[int]:
    """Parameters that a stepping optimizer holds and whose gradient never came, where all of its steps are known."""
    reached: set[int] = set()
    for backward in trace.rooted:
        assert backward.root is not None
        reached |= trace.graph.reach(backward.root)
    enough = ENOUGH_STEPS if trace.cut_short else 1
    stepping = {n for o in trace.optimizers if o.steps >= enough for n in o.parameters}
    stepping -= _natural(trace) | copied_only(trace)
    stepping -= {n for case in starved(trace) for n in case.parameters}
    return frozenset(
        p.id
        for p in trace.parameters
        if p.id in stepping
        and p.requires_grad
        and not p.unwatched
        and (not p.consumed or (p.grad == "zero" and p.id not in reached))
    )


@worked_out_once
def frozen(trace: Trace) -> frozenset[int]:
    """Parameters that an optimizer holds and that never asked for a gradient while it stepped."""
    return frozenset(p.id for p in trace.parameters if not p.requires_grad and p.id in trace.holders)
