"""How the shapes of operands come together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whygrad.trace.anatomy import formula
from whygrad.trace.graph import Graph, Kind, Op
from whygrad.trace.ledger import Backward
from whygrad.trace.operations import MADE_UP, SCALINGS, SUMS
from whygrad.trace.trace import Trace

REDUCED = frozenset(
    {"mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss", "binary_cross_entropy_with_logits", "kl_div"}
)
"""They combine pair by pair and then give one number, whose shape shows nothing."""
PAIRWISE = SUMS | SCALINGS | REDUCED | {"pow", "minimum", "maximum", "where"}


@dataclass(slots=True)
class Outer:
    """Every element of one operand was combined with every element of the other."""

    backward: Backward
    op: Op
    tall: Op
    """The operand with the extra dimension of size one."""
    flat: Op

    @property
    def shape(self) -> list[int]:
        """What the pairs are laid out in, also where a loss has reduced them to a number."""
        flat = (1,) * (len(self.tall.shape) - len(self.flat.shape)) + self.flat.shape
        return [max(pair) for pair in zip(self.tall.shape, flat, strict=True)]


def outer_products(trace: Trace) -> Iterator[Outer]:
    """Operations on the way to a loss in which `(N, 1)` met `(N,)`, the first of each line."""
    seen: set[object] = set()
    for backward in reversed(trace.rooted):
        assert backward.root is not None
        ops = sorted(formula(trace.graph, backward.root, gradient=False), key=lambda op: op.id)
        for op in ops:
            pair = _met(trace.graph, op)
            if pair is not None and op.site not in seen and not _follows(trace.graph, op, seen):
                seen.add(op.site)
                if _of_the_batch(trace, pair[1]):
                    yield Outer(backward, op, *pair)


def _met(graph: Graph, op: Op) -> tuple[Op, Op] | None:
    if op.name not in PAIRWISE:
        return None
    entering = [pair for pair in graph.operands(op) if not pair[0].inferred]  # Else a number stands there.
    values = [found for operand, found in entering if not operand.selector or op.name == "where"]
    for tall in values:
        for flat in values:
            spread = len(op.shape) >= 2 or op.name in REDUCED
            if spread and len(tall.shape) == len(flat.shape) + 1 and _grows(tall.shape, flat.shape):
                return tall, flat
    return None


def _grows(tall: tuple[int, ...], flat: tuple[int, ...]) -> bool:
    """`(…, N, 1)` with `(…, N)`: the same elements, one of them as a column."""
    return bool(flat) and flat[-1] > 1 and tall[-1] == 1 and tall[:-1] == flat


def _follows(graph: Graph, op: Op, seen: set[object]) -> bool:
    """Only the first such operation of a chain is the cause."""
    return any(found.site in seen and len(found.shape) >= 2 for _, found in graph.operands(op))


def _of_the_batch(trace: Trace, op: Op) -> bool:
    """Made anew for each update: not a support or a grid that happens to be as long as the batch."""
    graph = trace.graph
    steps = [s.serial for s in trace.steps]
    first = min(steps, default=0)
    stack, seen = [op.id], {op.id}
    while stack:
        found = graph.ops.get(stack.pop())
        if found is None or found.parameter is not None:
            continue
        if found.layer:
            return True
        data = not found.inputs and found.kind in (Kind.INPUT, Kind.COPY) and found.name not in MADE_UP
        if data and (found.id > first or len(steps) < 2):
            return True
        fresh = [i.op for i in found.inputs if i.op not in seen and not i.selector]
        seen.update(fresh)
        stack.extend(fresh)
    return False
