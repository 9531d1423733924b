"""Workers: copies of a network that are differentiated in its place, and hand their gradients over to it."""

from __future__ import annotations

from collections.abc import Iterable

from whygrad.trace.ledger import Optimizer
from whygrad.trace.trace import Trace


def originals(trace: Trace) -> dict[int, int]:
    """By parameter of a worker: the one that an optimizer steps with the worker's gradient."""
    return trace.once("workers", lambda: _find(trace))


def with_workers(trace: Trace, parameters: Iterable[int]) -> frozenset[int]:
    """These parameters and those of the workers that stand in for them."""
    wanted = frozenset(parameters)
    return wanted | {worker for worker, original in originals(trace).items() if original in wanted}


def _find(trace: Trace) -> dict[int, int]:
    """A worker is copied from what it stands in for; that some of its gradients arrive there tells for whom it works.

    A gradient that never came is not handed over either, so the rest of the same copy stands in as well.
    """
    out: dict[int, int] = {}
    for optimizer in trace.optimizers:
        handed = _handed(trace, optimizer)
        for copy in trace.copies if handed else ():
            pairs = {into: next(iter(sources)) for into, sources in copy.pairs.items() if len(sources) == 1}
            if handed & set(pairs.items()):
                mine = {worker: original for worker, original in pairs.items() if original in optimizer.parameters}
                out.update((worker, original) for worker, original in mine.items() if worker not in trace.holders)
    return out


def _handed(trace: Trace, optimizer: Optimizer) -> set[tuple[int, int]]:
    """Pairs of which the second was given, by hand, the gradient of a backward that reached the first and not it."""
    deposits = {backward.id: backward.deposits for backward in trace.backwards}
    out: set[tuple[int, int]] = set()
    for step in trace.steps:
        for number in step.assigned if step.optimizer == optimizer.id else ():
            found = frozenset[int]().union(*(deposits.get(i, frozenset()) for i in step.consumed.get(number, ())))
            out |= {(worker, number) for worker in found if number not in found}
    return out
