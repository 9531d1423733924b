"""From the shadow graph to the trace's plain one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from whygrad.capture.tensorflow.places import Where, function, resolve
from whygrad.capture.tensorflow.shadow import Node
from whygrad.capture.tensorflow.tapes import OUTSIDE
from whygrad.source.feeding import feeding
from whygrad.trace import Graph, Input, Op, Region, Site

if TYPE_CHECKING:
    from whygrad.capture.tensorflow.capture import Capture

MOST_OPS = 20_000


class Extraction:
    """Copies what the losses were made of."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.graph = Graph()
        self.truncated = False
        self._regions: dict[tuple[str, Site | None], Region] = {}
        self._left: dict[Site, Node] = {}

    def take(self, root: Node, opened: Where | None) -> int:
        """Everything behind a loss; `opened` is where its tape was."""
        queue, count = deque([root]), 0
        while queue:
            node = queue.popleft()
            if node.serial in self.graph.ops:
                continue
            count += 1
            if count > MOST_OPS:
                self.truncated = True
                break
            op = self.graph.add(self._op(node, opened))
            queue.extend(operand for operand, _, _ in node.inputs)
            if node.constant and op.site is not None and op.library is None:
                queue.extend(self._link(node, op))
        return root.serial

    def note_departures(self) -> None:
        """Where values left TensorFlow, by expression; asked for before the shadow graph is forgotten."""
        self._left.update({resolve(place): node for place, node in self.capture.shadow.departures.items()})

    def _op(self, node: Node, opened: Where | None) -> Op:
        return Op(
            node.serial,
            node.name,
            node.kind,
            node.where.site,
            node.where.inner,
            tuple(Input(operand.serial, carries, selects) for operand, carries, selects in node.inputs),
            node.requires_grad,
            node.floating,
            node.shape,
            node.dtype,
            self._region(node, opened),
            node.parameter,
            node.layer,
            node.constant,
            node.silenced,
            scalar=node.scalar,
            written=node.written,
        )

    def _region(self, node: Node, opened: Where | None) -> Region | None:
        if not node.outside or node.requires_grad or node.parameter is not None:
            return None
        site = _beside(node, opened) if node.outside == OUTSIDE else (node.paused or node.where).site
        key = (node.outside, site)
        if key not in self._regions:
            self._regions[key] = Region(len(self._regions), node.outside, "user", site)
        return self._regions[key]

    def _link(self, node: Node, op: Op) -> list[Any]:
        """Python numbers took part: does the source say that they left TensorFlow before?"""
        assert op.site is not None
        linked: dict[int, tuple[Node, bool]] = {}
        for site, inside in feeding(op.site) if self._left else ():
            found = next((n for s, n in self._left.items() if _same(s, site)), None)
            if found is not None and found.serial < node.serial:
                linked.setdefault(found.serial, (found, inside))
        op.inputs += tuple(Input(n.serial, inferred=not inside) for n, inside in linked.values())
        return [n for n, _ in linked.values()]


def _beside(node: Node, opened: Where | None) -> Site | None:
    """The call, in the function that holds the tape, which led here: that is the line to move."""
    if opened is not None and opened.user:
        home = function(opened.user[0])
        for place in node.where.user:
            if function(place) == home:
                return resolve(place)
    return node.where.site


def _same(one: Site, two: Site) -> bool:
    return (one.file, one.line, one.col, one.end_line, one.end_col) == (
        two.file,
        two.line,
        two.col,
        two.end_line,
        two.end_col,
    )
