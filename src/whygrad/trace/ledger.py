"""The update protocol: what deposited, cleared, scaled and consumed gradient, and what holds whom."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from whygrad.trace.site import Site

FEW = 8
"""Losses from which on a scaler that only ever overflowed is called stuck: the first few may, by design."""


@dataclass(slots=True)
class Changes:
    """When values were found changed, from one look to the next."""

    times: int = 0
    last: int = 0
    """The update of the latest look that found them changed."""
    pause: int = 0
    """No more updates than these lay between two changes up to then."""
    start: int = 0
    """The update of the look before the latest that found them changed."""

    def seen(self, start: int, end: int) -> None:
        """They changed between the looks at these updates."""
        if self.times:
            self.pause = max(self.pause, end - self.start)
        self.times, self.last, self.start = self.times + 1, end, start


@dataclass(slots=True)
class Parameter:
    """A trainable tensor, by the name its owner would use."""

    id: int
    name: str
    module: str = ""
    """The outermost module (or variable) it belongs to, in the user's words."""
    shape: tuple[int, ...] = ()
    requires_grad: bool = True
    created: Site | None = None
    creation_stack: tuple[Site, ...] = ()
    """The user's frames when it was made, innermost first."""
    replaced: Site | None = None
    """The assignment that put it in the place of another parameter."""
    frozen: Site | None = None
    frozen_last: bool = False
    """At the end of the run it did not require a gradient."""
    companions: frozenset[int] = frozenset()
    """Parameters of the modules inside whose forward it is used."""
    used: bool = False
    """Some traced operation read it."""
    consumed: int = 0
    """Steps that found a gradient on it."""
    held_steps: int = 0
    """Steps of optimizers that hold it."""
    looked_steps: int = 0
    """Of these, the ones at which somebody looked whether it had a gradient."""
    absent: bool = True
    """The latest steps of its optimizer found no gradient on it."""
    waited: int = 0
    """Looks before the first one that found a gradient."""
    first: int = 0
    """The update at which a look first found a gradient."""
    last: int = 0
    """The same of the latest such look."""
    grad: str = "none"
    """Largest gradient seen: `none`, `zero` or `nonzero`."""
    changed: bool = False
    loaded: bool = False
    """Its values came from elsewhere: a state dict, a copy of another network, a file."""
    derived_from: tuple[int, ...] = ()
    """Parameters its first value was computed from."""
    moved: bool | None = None
    """Its values were seen to change after its first use, by whatever means; None: nobody could look."""
    shift: float = 0.0
    """How far its values had come from the first ones at the last look, relative to their size."""
    finite: bool | None = None
    """Whether its values were finite at the last look; None: nobody could look."""
    rewritten: bool = False
    """Something wrote into it and left the values as they were."""
    still: int = 0
    """Updates through which it was watched and did not move."""
    changes: Changes = field(default_factory=Changes)
    vain: int = 0
    """Steps that found a gradient on it before a look at which its values were exactly the first ones."""
    sampled: bool = False
    """Only some of its values were compared."""
    same_memory: tuple[int, ...] = ()
    """Other parameters that live in the very same memory."""
    unwatched: int = 0
    """Steps of its optimizer, before the first look at it, at which it may have been there already."""
    lost: bool = False
    """No variable or attribute of the user's was seen to lead to it."""


@dataclass(slots=True)
class Optimizer:
    """An optimizer, and the line that built it."""

    id: int
    name: str
    site: Site | None
    stack: tuple[Site, ...] = ()
    parameters: tuple[int, ...] = ()
    steps: int = 0
    looked: int = 0
    """Of its steps, the ones at which somebody looked at the gradients."""
    twice: frozenset[int] = frozenset()
    """Parameters it holds more than once."""
    maximizes: bool = False
    rates: tuple[float, ...] = ()
    """Learning rates of its groups when it was last looked at."""
    stopped: int | None = None
    """The step from which on a schedule held its learning rates at zero, until the end."""
    scheduled: bool = False
    """Its learning rates were seen to change."""
    adaptive: bool = False
    """It divides gradients by their usual size, as Adam does: scaling all of them alike changes nothing."""
    momentum: bool = False
    """It remembers earlier gradients and moves by them, also where the latest is zero."""
    there: int = 0
    """Order of the latest traced step, its own or another's, at which it was alive."""
    groups: tuple[tuple[int, ...], ...] = ()
    """What it holds, by parameter group."""
    governed: bool = False
    """A scheduler sets its learning rates."""

    def rate(self, number: int) -> float | None:
        """The learning rate of a parameter's group, where that is known."""
        pairs = zip(self.groups, self.rates, strict=False)
        return next((rate for numbers, rate in pairs if number in numbers), None)


@dataclass(slots=True)
class Backward:
    """One call of backward (or `autograd.grad`), with what it deposited where."""

    id: int
    site: Site | None
    root: int | None
    """The loss in the shadow graph, where it was kept."""
    name: str = "loss"
    deposits: frozenset[int] = frozenset()
    zeros: frozenset[int] = frozenset()
    """Deposits that were exactly zero everywhere."""
    how: str = "backward"
    made: Site | None = None
    """The expression that made the loss."""
    order: int = 0
    library: Site | None = None
    serial: int = 0
    """The shadow graph's latest operation at that time."""
    update: int = 0
    """How many steps there had been."""
    thread: int = 0
    """Who asked for it."""
    value: float | None = None
    """The loss itself."""
    poisoned: bool = False
    """Some weights were not finite before it began."""
    largest: dict[int, float] = field(default_factory=dict)
    """By parameter: the largest magnitude in what stands on it after this backward."""
    squares: dict[tuple[int, int], float] = field(default_factory=dict)
    """Squared gradient norm by (term, parameter), where the terms were differentiated one by one."""
    products: dict[tuple[int, int, int], float] = field(default_factory=dict)
    """Inner product of two terms' gradients by (term, term, parameter)."""

    @property
    def overflowed(self) -> bool:
        """It left a gradient that is not finite."""
        return any(not math.isfinite(size) for size in self.largest.values())


@dataclass(slots=True)
class Failure:
    """The first loss that was not finite while nothing was traced."""

    site: Site | None
    update: int
    special: str
    """`nan` or `inf`."""
    backward: int | None = None
    """The traced backward of the same line."""
    op: int | None = None
    """The operation of that traced graph which gave the first such value; None if it could not be told."""
    constant: bool = False
    """The operation made a constant that entered the loss like this: it, or something before it on the way there."""
    strange: str = ""
    """What gave the first such value is of a kind that no traced loss of that line has: its name."""
    times: int = 0
    """Losses that were not finite, with this one."""
    last: int = 0
    """The updates there had been at the latest of them."""
    ruined: int | None = None
    """The same at the first before which weights were found not to be finite; None: they were, when looked at."""


@dataclass(slots=True)
class Clear:
    """Gradients were set to None or zero."""

    site: Site | None
    parameters: frozenset[int]
    order: int = 0
    discarded: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Deposits that were still there, by parameter."""


@dataclass(slots=True)
class Clip:
    """Gradients were scaled or clamped, by a clipping call or by hand."""

    site: Site | None
    parameters: frozenset[int]
    limit: float
    order: int = 0
    how: str = "norm"
    """`norm`, `value`, `each` (the norm of every one by itself) or, written by the user, `hand`."""
    present: frozenset[int] = frozenset()
    """Those that had a gradient to clip."""
    size: float | None = None
    """Norm (or, for `value`, largest entry) of the gradients before."""
    after: float | None = None
    """The norm of all of them after it, where it limits each one by itself."""
    scaled: bool = False
    """A gradient scaler had multiplied the loss and nobody had divided yet."""
    operation: str = ""
    """Of a change by hand: what was called."""
    exhausted: bool = False
    """The parameters came from an iterator that had nothing left."""


@dataclass(slots=True)
class Copy:
    """Values were written into parameters by hand: a target update or a loaded state."""

    site: Site | None
    into: frozenset[int]
    sources: frozenset[int] = frozenset()
    order: int = 0
    pairs: dict[int, frozenset[int]] = field(default_factory=dict)
    """For each parameter what it was written from."""
    blended: bool = False
    """It mixes new values into the old ones, as an exponential average does."""
    itself: frozenset[int] = frozenset()
    """Of `into`, those that were written from nothing but their own values."""
    serial: int = 0
    """Operations with smaller numbers came before it."""


@dataclass(slots=True)
class Step:
    """One optimizer step and the deposits it consumed."""

    optimizer: int
    site: Site | None
    consumed: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Parameters that had a gradient, with the backwards that deposited since the last clearing."""
    order: int = 0
    serial: int = 0
    """The shadow graph's latest operation at that time."""
    changed: bool | None = None
    """Whether any value moved; None: not looked at."""
    stayed: frozenset[int] = frozenset()
    """Parameters whose gradient was not zero and whose values it left exactly as they were."""
    assigned: frozenset[int] = frozenset()
    """Parameters whose gradient was put there by hand."""
    thread: int = 0
    """Who asked for it."""
    closure: bool = False
    """It evaluated the loss itself, so `consumed` is what it found before."""
    within: int | None = None
    """The optimizer that takes this step as a part of its own."""
    inside: bool = False
    """It ran in a hook of the backward whose gradient it used."""
    rounded_away: float | None = None
    """Of weights in half precision with a gradient: the share that stayed as it was."""
    update: int = 0
    """How many steps there have been, with this one."""
    own: int = 0
    """How many of its optimizer's, with this one; 0: nobody counted."""
    rates: tuple[float, ...] = ()
    """The learning rates that it moved by, one per group."""
    leftover: frozenset[int] | None = None
    """Of the first step after tracing was taken up at the step before: parameters on which what that one applied was
    still there, uncleared. None: nobody saw the step before it, or it was traced itself."""


@dataclass(slots=True)
class Scaler:
    """A gradient scaler over the whole run."""

    site: Site | None
    """Where its step is called, or a loss is scaled."""
    start: float
    """The factor it began with."""
    end: float
    backoff: float
    """What it multiplies the factor by when gradients overflow."""
    calls: int
    """Losses it scaled."""

    @property
    def overflows(self) -> float:
        """How many it takes, at least, to bring the factor from where it began to where it ended."""
        if self.end <= 0 or not 0 < self.backoff < 1:
            return float(self.calls)
        return max(0.0, math.log(self.end / self.start) / math.log(self.backoff)) if self.start > 0 else 0.0

    @property
    def stuck(self) -> bool:
        """Nearly every loss overflowed, so nearly every step was left out."""
        return self.calls >= FEW and self.overflows >= 0.9 * self.calls


@dataclass(slots=True)
class Switch:
    """`train()` or `eval()` on modules that behave differently in the two."""

    site: Site | None
    parameters: frozenset[int]
    training: bool
    order: int = 0
    updates: int = 0


@dataclass(slots=True)
class Kept:
    """Tensors with a graph that outlive the update they were made in."""

    made: Site | None
    holder: str
    """The variable or attribute that holds them, as the user would write it."""
    file: str
    counts: tuple[int, ...]
    """How many there were at successive steps."""
    survived: int = 0
    """Updates after the traced ones through which some of them were still alive."""
    chained: bool = False
    """One running value that hangs on all its earlier ones: `counts` are those."""


@dataclass(slots=True)
class Alias:
    """Two names for one network."""

    names: tuple[str, str]
    parameters: frozenset[int]
    whole: bool = True
