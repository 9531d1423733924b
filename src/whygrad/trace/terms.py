"""The additive terms of a loss, as the user summed them."""

from __future__ import annotations

from dataclasses import dataclass

from whygrad.trace.graph import Graph, Kind, Op
from whygrad.trace.operations import JOINS, SCALINGS, SUMS
from whygrad.trace.site import Site

PASSING = frozenset("neg mean sum nanmean reshape squeeze unsqueeze clone to expand".split())
MOST_TERMS = 64


@dataclass(frozen=True, slots=True)
class Term:
    """A summand of a loss; occurrences in a loop at one line are one term."""

    ops: tuple[int, ...]
    site: Site | None
    """The whole summand as written; `ops` are what it comes down to behind scalings and means."""
    operand: tuple[Site, int] | None = None
    """The sum that takes it in and which operand it is there: how the user calls it."""
    inferred: bool = False
    """It is made of Python numbers that only the source connects with this loss."""

    @property
    def op(self) -> int:
        return self.ops[-1]

    def reach(self, graph: Graph) -> frozenset[int]:
        return frozenset().union(*(graph.reach(op) for op in self.ops))


def terms(graph: Graph, root: int) -> list[Term]:
    """Split the loss at its sums; the order is that of the source. Nobody may change the list."""
    key = ("terms", root)
    if key not in graph.memo:
        graph.memo[key] = _split(graph, root)
    found: list[Term] = graph.memo[key]
    return found


def _split(graph: Graph, root: int) -> list[Term]:
    groups: dict[object, list[int]] = {}
    sites: dict[object, Site | None] = {}
    operands: dict[object, tuple[Site, int] | None] = {}
    guessed: set[object] = set()
    seen: set[int] = set()
    stack: list[tuple[int, int, tuple[Site, int] | None]] = [(root, root, None)]
    while stack and len(groups) <= MOST_TERMS:
        number, head, operand = stack.pop()
        if number in seen or number not in graph.ops:
            continue
        seen.add(number)
        op = graph[number]
        parts = _parts(graph, op)
        numbers = [part for part in parts if graph[part].kind is Kind.LEAVE]
        if numbers:  # Python numbers that make up one summand together: `x.item() * weight`
            key: object = (op.site or number, "numbers")
            groups.setdefault(key, []).extend(numbers)
            sites[key] = _place(graph[numbers[0]])
            if all(entering.inferred for entering in op.inputs if entering.op in numbers):
                guessed.add(key)
        if parts:
            splits = op.name in SUMS or op.name in JOINS
            for index, part in reversed(list(enumerate(parts))):
                if part not in numbers:
                    site = _place(op)
                    place = (site, index) if op.name in SUMS and site is not None else operand
                    stack.append((part, part if splits else head, place))
        else:
            key = op.site or number
            groups.setdefault(key, []).append(number)
            sites[key], operands[key] = _place(graph[head]), operand
    return [Term(tuple(ops), sites[key], operands.get(key), key in guessed) for key, ops in groups.items()]


def _place(op: Op) -> Site | None:
    """Where the term is written: in the library, if the user only called that."""
    return op.library or op.site


def _log(graph: Graph, op: Op) -> bool:
    while op.name in ("sum", "neg") and op.inputs and op.inputs[0].op in graph.ops:
        op = graph[op.inputs[0].op]
    return op.name == "log"


def _parts(graph: Graph, op: Op) -> list[int]:
    """The operands that a sum, a scaling or a reduction passes through; nothing at a term."""
    if op.blocks:
        return []
    values = [(operand, found) for operand, found in graph.operands(op) if not operand.selector]
    if op.name in SUMS and any(_log(graph, found) for _, found in values):
        return []  # A log-probability: its parts are no terms of the loss.
    if op.name in SUMS or op.name in PASSING or op.name in JOINS:
        return [found.id for _, found in values]
    if op.name in SCALINGS:
        varying = [found.id for _, found in values if graph.depends(found.id)]
        return varying if len(varying) == 1 else []
    return []
