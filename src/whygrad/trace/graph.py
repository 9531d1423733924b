"""The shadow graph: where data flowed, and at each step whether gradient could follow."""

from __future__ import annotations

from collections.abc import Iterator, Set, Sized
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from whygrad.trace import deadline
from whygrad.trace.facts import Facts
from whygrad.trace.site import Site


class Kind(StrEnum):
    """What an operation does to the flow of gradient."""

    PARAMETER = "parameter"
    INPUT = "input"
    COMPUTE = "compute"
    COPY = "copy"
    LEAVE = "leave"
    DETACH = "detach"
    DISCRETE = "discrete"
    FLAG = "flag"
    FUNCTION = "function"
    CHECKPOINT = "checkpoint"


BLOCKING = frozenset({Kind.COPY, Kind.LEAVE, Kind.DETACH, Kind.DISCRETE, Kind.FLAG})
"""Kinds through which no gradient passes, whatever their input carries."""


Kept = TypeVar("Kept", bound=Sized)
MOST_KEPT = 1_000_000
"""Operations in the lists that are kept for the next one who asks: losses that share most of a long graph (a state that
is never detached) would hold as many lists of all of it as there are losses. 60 MiB when full."""


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of execution with gradient recording switched off, and who switched it."""

    id: int
    how: str
    """As the user would write it: `no_grad`, `inference_mode`, `set_grad_enabled(False)`."""
    by: str
    """`user`, `sample` (a distribution), `checkpoint`, `function` (a custom one) or `library`."""
    site: Site | None


@dataclass(frozen=True, slots=True)
class Input:
    """One operand of an operation."""

    op: int
    carries: bool = False
    """The operand had gradient history when it was used."""
    selector: bool = False
    """It chose among values (index, mask, condition) rather than entering as a value."""
    inferred: bool = False
    """The link was read from the source, not observed."""


@dataclass(slots=True)
class Op:
    """One operation of the run and what came out of it."""

    id: int
    name: str
    """Of the vocabulary in `operations`."""
    kind: Kind = Kind.COMPUTE
    site: Site | None = None
    library: Site | None = None
    """The line inside a library that ran it, when that is not the user's."""
    inputs: tuple[Input, ...] = ()
    requires_grad: bool = False
    floating: bool = True
    shape: tuple[int, ...] = ()
    dtype: str = ""
    region: Region | None = None
    parameter: int | None = None
    layer: bool = False
    """It applied weights (linear, convolution, embedding, recurrence): part of a network."""
    constant: bool = False
    """A Python number of unknown origin took part."""
    silenced: tuple[int, ...] = ()
    """Positions of operands for which a custom backward or a hook returned nothing or only zeros."""
    hook: Site | None = None
    """Where the hook that did so was registered."""
    scalar: float | None = None
    """The Python number that took part in an addition or a scaling."""
    spread: float | None = None
    """Of what may be a probability ratio: its largest distance from one."""
    off: float = 0.0
    """The part of it that is further than 0.001 from one."""
    training: bool | None = None
    """Of dropout and batch normalisation: the mode it ran in."""
    facts: Facts | None = None
    written: str = ""
    """What the framework calls it in the spelling that the script used; for messages."""

    @property
    def blocks(self) -> bool:
        """No gradient can pass here, whatever the operands carry."""
        return self.kind in BLOCKING or (self.region is not None and not self.requires_grad)

    def passes(self, operand: Input) -> bool:
        """Whether gradient flows from this operation back to the operand."""
        return operand.carries and self.requires_grad and self.kind not in BLOCKING and not operand.inferred


@dataclass(slots=True)
class Graph:
    """Operations by number; an operation's operands have lower numbers."""

    ops: dict[int, Op] = field(default_factory=dict)
    _masks: dict[str, dict[int, int]] = field(default_factory=dict, repr=False)
    _sets: dict[int, frozenset[int]] = field(default_factory=dict, repr=False)
    _fresh: list[int] = field(default_factory=list, repr=False)
    """What has come since parameters were last counted."""
    _dangling: set[int] = field(default_factory=set, repr=False)
    """Operands of what was counted that are not in the graph."""
    _kept: int = field(default=0, repr=False)
    memo: dict[object, Any] = field(default_factory=dict, repr=False)
    """Answers about finished graphs that are asked for again and again."""

    def __post_init__(self) -> None:
        self._fresh = list(self.ops)

    def __getitem__(self, op: int) -> Op:
        return self.ops[op]

    def add(self, op: Op) -> Op:
        self.ops[op.id] = op
        self._fresh.append(op.id)
        return op

    def operands(self, op: Op) -> Iterator[tuple[Input, Op]]:
        known = self.ops
        for operand in op.inputs:
            if operand.op in known:
                yield operand, known[operand.op]

    def reach(self, root: int) -> frozenset[int]:
        """Parameters that gradient gets to from here."""
        return self._parameters("gradient", root)

    def depends(self, root: int) -> frozenset[int]:
        """Parameters that the value at this operation was computed from, by any path."""
        return self._parameters("any", root)

    def made_from(self, root: int) -> frozenset[int]:
        """The same, choices of index and mask left out."""
        return self._parameters("value", root)

    def carriers(self, root: int) -> Set[int]:
        """Operations through which gradient passes on the way back from `root`."""
        key = ("carriers", root, len(self.ops))  # One that still grows is asked as well.
        found: Set[int] | None = self.memo.get(key)
        if found is None:
            found = self.keep(key, self._carriers(root))
        return found

    def carrying(self, root: int) -> list[Op]:
        """The same, oldest first."""
        key = ("carrying", root, len(self.ops))
        found: list[Op] | None = self.memo.get(key)
        if found is None:
            found = self.keep(key, [self.ops[number] for number in sorted(self.carriers(root))])
        return found

    def keep(self, key: object, found: Kept) -> Kept:
        """Remember an answer that is as long as the way behind a loss, while there is room for such."""
        if self._kept + len(found) <= MOST_KEPT:
            self._kept += len(found)
            self.memo[key] = found
        return found

    def _carriers(self, root: int) -> set[int]:
        deadline.check()
        seen: set[int] = set()
        # Below a re-entrant checkpoint that kept its gradient, every value dependence is one.
        stack = [(root, True)]
        while stack:
            number, strict = stack.pop()
            if number in seen or number not in self.ops:
                continue
            seen.add(number)
            op = self.ops[number]
            folded = op.kind is Kind.CHECKPOINT and op.requires_grad
            for operand in op.inputs:
                if not strict or folded or op.passes(operand):
                    stack.append((operand.op, strict and not folded))
        return seen

    def _parameters(self, how: str, root: int) -> frozenset[int]:
        if self._fresh:
            self._count()
        mask = self._masks[how].get(root, 0)
        found = self._sets.get(mask)
        if found is None:
            found = self._sets[mask] = frozenset(n for n in range(mask.bit_length()) if mask >> n & 1)
        return found

    def _count(self) -> None:
        """One pass over what has come since the last one, oldest first: parameters as bits, so that a long chain costs
        no more."""
        fresh, self._fresh = self._fresh, []
        if not self._dangling.isdisjoint(fresh):  # Of what was cut off, a part has come after all.
            fresh, self._masks, self._dangling = list(self.ops), {}, set()
        reach, anything, values = (self._masks.setdefault(how, {}) for how in ("gradient", "any", "value"))
        for number in sorted(fresh):
            op = self.ops[number]
            own = 1 << op.parameter if op.parameter is not None else 0
            some = every = value = own
            folded = op.kind is Kind.CHECKPOINT and op.requires_grad
            for operand in op.inputs:
                behind = anything.get(operand.op)
                if behind is None:
                    self._dangling.add(operand.op)
                    continue
                every |= behind
                if not operand.selector:
                    value |= values[operand.op]
                if folded:
                    some |= behind
                elif op.passes(operand):
                    some |= reach[operand.op]
            reach[number], anything[number], values[number] = some, every, value
