"""Micro-batches: the losses of one step, each made from its own rows of one and the same batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from whygrad.trace.graph import Graph, Op
from whygrad.trace.ledger import Backward

TOGETHER = frozenset({"split", "unbind"})
"""They make all the pieces at once."""
CUTTING = TOGETHER | {"select", "index_select"}
FEWEST = 2
"""Rows of the largest piece: one by one they are steps in time as often as samples."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Rows of a batch that the losses of one step share out among them."""

    batch: Op
    whole: int
    """Rows of the batch."""
    rows: int
    """Rows of one piece; the last one may have less."""
    count: int
    """Pieces that one step consumes."""
    uneven: bool = False
    """Their sizes differ, as those of micro-batches packed to a number of tokens do, or those of episodes."""

    @property
    def steps(self) -> int:
        """How many steps share the batch out."""
        return max(1, self.whole // (self.rows * self.count))


@dataclass(frozen=True, slots=True)
class _Piece:
    op: Op
    rows: int
    whole: int


def pieces(graph: Graph, backwards: Sequence[Backward], count: int) -> Pieces | None:
    """How these losses (the ones that were kept, out of `count` in one step) share a batch out, if they do."""
    roots = [b.root for b in backwards if b.root is not None]
    if len(roots) < 2 or _entangled(graph, roots):
        return None
    cut = [_cut(graph, root) for root in roots]
    for batch in sorted(set(cut[0]).intersection(*cut[1:]), reverse=True):
        found = _shared_out(graph[batch], [losses[batch] for losses in cut], count)
        if found is not None:
            return found
    return None


def _entangled(graph: Graph, roots: Sequence[int]) -> bool:
    """Something that one of them trains through enters another: a state carried on, a forward for all of them."""
    for root, later in pairwise(roots):
        trained = {n for n in graph.carriers(root) if graph[n].parameter is None and graph[n].inputs}
        if trained & _behind(graph, later):
            return True
    return False


def _behind(graph: Graph, root: int) -> set[int]:
    """Everything a loss was made from, choices included."""
    seen, stack = {root}, [root]
    while stack:
        op = graph.ops.get(stack.pop())
        fresh = [i.op for i in op.inputs if i.op not in seen] if op is not None else []
        seen.update(fresh)
        stack.extend(fresh)
    return seen


def _cut(graph: Graph, root: int) -> dict[int, list[_Piece]]:
    """Pieces that a loss reads, by what they are cut from."""
    found: dict[int, list[_Piece]] = {}
    for op in (graph.ops[n] for n in _behind(graph, root) if n in graph.ops):
        batch = graph.ops.get(op.inputs[0].op) if op.name in CUTTING and op.inputs else None
        piece = _piece(op, batch) if batch is not None else None
        if batch is not None and piece is not None:
            found.setdefault(batch.id, []).append(piece)
    return found


def _piece(op: Op, batch: Op) -> _Piece | None:
    """Some rows of it; or, of numbers of rows laid out as `(pieces, rows)`, one line."""
    if not op.shape or not op.shape[0]:
        return None
    if len(op.shape) == len(batch.shape) and op.shape[1:] == batch.shape[1:] and op.shape[0] < batch.shape[0]:
        return _Piece(op, op.shape[0], batch.shape[0])
    laid_out = len(batch.shape) == 2 and not batch.floating and op.shape == batch.shape[1:]
    return _Piece(op, op.shape[0], batch.shape[0] * batch.shape[1]) if laid_out else None


def _shared_out(batch: Op, cut: list[list[_Piece]], count: int) -> Pieces | None:
    read = [frozenset(piece.op.id for piece in loss) for loss in cut]
    all_pieces = [piece for loss in cut for piece in loss]
    together = all(piece.op.name in TOGETHER for piece in all_pieces)
    if not together and any(a & b for a, b in pairwise(read)):
        return None  # The same rows for all of them.
    rows, whole = max(piece.rows for piece in all_pieces), all_pieces[0].whole
    if rows < FEWEST:
        return None
    if any(piece.rows != rows for loss in cut[:-1] for piece in loss):
        partition = len(cut) == count and sum(loss[0].rows for loss in cut) == whole
        alike = all(piece.rows == loss[0].rows for loss in cut for piece in loss)
        return Pieces(batch, whole, rows, count, True) if partition and alike else None
    once = (count - 1) * rows < whole <= count * rows
    # Rows picked by an index may well be picked again: only cuts go through a batch in several steps.
    in_turn = whole % (count * rows) == 0 and all(len(piece.op.inputs) == 1 for piece in all_pieces)
    return Pieces(batch, whole, rows, count) if once or in_turn else None
