"""What traced updates have looked like: one that looks like none before deserves more than a single look.

Long after the start one update is traced now and then. A fault that has begun meanwhile (gradients that are not cleared
any more, a rate of zero, a graph that is cut) would be seen once, and once proves little.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from whygrad.capture.torch.shadow import Node
from whygrad.trace import Backward, Clip, Step

MOST_ASKED = 4
"""Times that more looks are asked for in a run: some scripts do something else at every turn."""

NEXT_TO_NOTHING = 1e-3
"""What a limit leaves of a gradient."""


class Forms:
    """The forms of losses and steps that have been traced."""

    def __init__(self) -> None:
        self._known: set[Hashable] = set()
        self._latest: set[Hashable] = set()
        """Those of the window that is open."""
        self._asked = 0

    def differentiated(self, backward: Backward, nodes: Iterable[Node] | None) -> None:
        """A loss, by where gradient came from it; with nodes, by the lines that carry it, too."""
        self._latest.add((backward.site, backward.deposits, backward.zeros))
        if nodes is not None:
            lines = frozenset((id(n.code), n.lasti, n.name) for n in nodes if n.requires_grad)
            self._latest.add((backward.site, lines))

    def stepped(self, step: Step) -> None:
        found = frozenset((number, min(len(deposits), 2)) for number, deposits in step.consumed.items())
        self._latest.add((step.optimizer, found, bool(step.leftover), step.changed))

    def clipped(self, clips: Iterable[Clip]) -> None:
        for clip in clips:
            nothing_left = clip.size is not None and abs(clip.limit) < NEXT_TO_NOTHING * clip.size
            self._latest.add((clip.site, nothing_left, bool(clip.present)))

    def worth_more(self, first: bool) -> bool:
        """At the end of a window: whether it showed something that none before it had shown."""
        new = not first and not self._latest <= self._known and self._asked < MOST_ASKED
        self._known |= self._latest
        self._latest.clear()
        self._asked += new
        return new
