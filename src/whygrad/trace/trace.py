"""Everything the rules may look at."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar

from whygrad.trace import deadline
from whygrad.trace.children import Children
from whygrad.trace.escape import Escape
from whygrad.trace.gap import Gap
from whygrad.trace.graph import Graph
from whygrad.trace.ledger import (
    Alias,
    Backward,
    Clear,
    Clip,
    Copy,
    Failure,
    Kept,
    Optimizer,
    Parameter,
    Scaler,
    Step,
    Switch,
)
from whygrad.trace.raised import Raised, Swallowed
from whygrad.trace.site import Site

T = TypeVar("T")

OFTEN, SHARE = 3, 0.1
"""Times, and share of all backward calls, from which on it is no occasional failure that is tried again."""


@dataclass
class Trace:
    graph: Graph = field(default_factory=Graph)
    parameters: list[Parameter] = field(default_factory=list)
    optimizers: list[Optimizer] = field(default_factory=list)
    backwards: list[Backward] = field(default_factory=list)
    """Those of traced updates, in order."""
    steps: list[Step] = field(default_factory=list)
    clears: list[Clear] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    scalers: list[Scaler] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    """What the user stated: module name to role."""
    raised: Raised | None = None
    """The error that ended the run, or that the script caught again and again."""
    swallowed: list[Swallowed] = field(default_factory=list)
    """Backward calls that raised while the script went on, the most frequent first."""
    cut_short: bool = False
    """An exception or Ctrl-C ended the run before its time."""
    updates: int = 0
    """Steps of the whole run, traced or not."""
    openings: list[int] = field(default_factory=list)
    """Orders of the latest events when tracing was taken up: what happened before a window's first event is unknown."""
    traced_updates: int = 0
    backward_calls: int = 0
    limits: list[str] = field(default_factory=list)
    """What could not be seen and need not have been, in sentences."""
    gaps: list[Gap] = field(default_factory=list)
    """What should have been looked at and was not."""
    unseen: list[Site] = field(default_factory=list)
    """Where losses were differentiated that were never traced."""
    compiled: bool = False
    """Some functions ran compiled, and were seen from outside only."""
    escaped: Escape | None = None
    """The exception that ended the run, unless that was Ctrl-C."""
    exit_status: int = 0
    """What the script itself left with (`sys.exit`)."""
    children: Children = field(default_factory=Children)
    known: dict[object, Any] = field(default_factory=dict, repr=False)
    """Answers that many rules ask for, by question."""

    def once(self, question: object, answer: Callable[[], T]) -> T:
        """Work something out the first time it is asked for."""
        if question not in self.known:
            deadline.check()
            self.known[question] = answer()
        found: T = self.known[question]
        return found

    ran: set[tuple[str, str]] = field(default_factory=set)
    """Functions of the user, by file and name, in which some operation ran."""
    results: dict[Site, str] = field(default_factory=dict)
    """Calls for a new tensor (`detach`, `lerp`, …) that leave their operands alone, by where the user makes them."""
    framework: str = "torch"
    """Which one ran; fixes are worded for it."""
    failure: Failure | None = None
    singles: dict[Site, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    """Choices along a dimension of size one: how many, and from what shape."""
    variables: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Operations whose result a variable held at a step: its name, and the file."""

    @cached_property
    def files(self) -> list[str]:
        """The user's files that took part."""
        return sorted({file for file, _ in self.functions})

    @cached_property
    def functions(self) -> set[tuple[str, str]]:
        """Functions of the user, by file and name, in which something was seen to happen."""
        sites = [op.site for op in self.graph.ops.values()]
        sites += [backward.site for backward in self.backwards]
        sites += [optimizer.site for optimizer in self.optimizers]
        sites += [step.site for step in self.steps] + [copy.site for copy in self.copies]
        sites += [clip.site for clip in self.clips] + [clear.site for clear in self.clears]
        return self.ran | {(site.file, site.function.rsplit(".", 1)[-1]) for site in sites if site is not None}

    def window(self, order: int) -> int:
        """The stretch of unbroken tracing that an event is in."""
        return bisect_left(self.openings, order)

    def parameter(self, number: int) -> Parameter:
        return self.parameters[number]

    def names(self, numbers: Iterable[int]) -> list[str]:
        return [self.parameters[n].name for n in sorted(numbers)]

    @cached_property
    def holders(self) -> dict[int, list[Optimizer]]:
        """Optimizers by the parameters they hold."""
        out: dict[int, list[Optimizer]] = {}
        for optimizer in self.optimizers:
            for number in optimizer.parameters:
                out.setdefault(number, []).append(optimizer)
        return out

    def count_held_steps(self) -> None:
        """Tell each parameter how often its optimizers stepped, and how often somebody looked."""
        for number, holders in self.holders.items():
            parameter = self.parameters[number]
            parameter.held_steps = sum(o.steps for o in holders)
            parameter.looked_steps = sum(min(o.looked, o.steps) for o in holders)

    @property
    def often_swallowed(self) -> list[Swallowed]:
        """Those that training is lost by: many of all calls, or all from some update on.

        One that raises beside updates that go on as ever is expected: it is tried again, or tried out.
        """
        least = SHARE * self.backward_calls
        often = [found for found in self.swallowed if found.lost >= OFTEN]
        return [found for found in often if found.lost >= least or found.first >= self.updates]

    @cached_property
    def rooted(self) -> list[Backward]:
        """Backwards whose loss is in the shadow graph."""
        return [b for b in self.backwards if b.root is not None and b.root in self.graph.ops]


def worked_out_once(question: Callable[[Trace], T]) -> Callable[[Trace], T]:
    """For questions about a whole trace that many rules ask; nobody may change the answer."""

    @wraps(question)
    def asked(trace: Trace) -> T:
        return trace.once(question, lambda: question(trace))

    return asked
