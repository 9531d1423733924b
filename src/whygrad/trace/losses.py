"""The losses of a run, each by its latest backwards."""

from __future__ import annotations

from collections.abc import Iterator

from whygrad.trace.ledger import Backward
from whygrad.trace.trace import Trace


def latest(trace: Trace, most: int = 2) -> Iterator[Backward]:
    """For each loss the traced backwards that tell most: its last ones.

    A loss is a call of backward together with the expression that made its value: several losses may
    go through one helper that calls backward.
    """
    losses: dict[object, list[Backward]] = {}
    for backward in trace.rooted:
        assert backward.root is not None
        losses.setdefault((backward.site, trace.graph[backward.root].site), []).append(backward)
    for group in losses.values():
        yield from group[-most:]
