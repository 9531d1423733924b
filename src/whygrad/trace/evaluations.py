"""One line of the script, seen in several updates: what persists and what was a passing state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whygrad.trace.graph import Op
from whygrad.trace.ledger import Backward
from whygrad.trace.trace import Trace


@dataclass(slots=True)
class Evaluation:
    """An operation in the graph of one backward."""

    backward: Backward
    op: Op


def evaluations(trace: Trace, wanted: Callable[[Op], bool]) -> list[list[Evaluation]]:
    """Operations that carry gradient to some loss, grouped by line, loss and order within the update, oldest first."""
    groups: dict[object, list[Evaluation]] = {}
    for backward in trace.rooted:
        assert backward.root is not None
        counts: dict[object, int] = {}
        for op in trace.graph.carrying(backward.root):
            if wanted(op):
                place = (op.site, op.library, op.name, backward.site, backward.library)
                counts[place] = counts.get(place, 0) + 1
                groups.setdefault((place, counts[place]), []).append(Evaluation(backward, op))
    return list(groups.values())


def same_line(trace: Trace, last: Evaluation, wanted: Callable[[Op], bool]) -> list[int]:
    """All that this line does of the kind in one backward: a model unrolled over time passes it at every step."""
    carriers = (trace.graph[n] for n in trace.graph.carriers(last.backward.root or 0))
    return [op.id for op in carriers if op.site == last.op.site and op.name == last.op.name and wanted(op)]


def spread(group: list[Evaluation]) -> int:
    """How many updates lie between the first and the last evaluation."""
    return group[-1].backward.update - group[0].backward.update
